package temporal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/enginetest"
)

const planted = "planted-s3cret"

// resolving is a worker that needs the password of its machine's BMC.
type resolving struct{ got chan string }

func (r resolving) Step(ctx context.Context, t provision.Task, _ provision.Recorder) (provision.Facts, error) {
	password, err := t.Machine.Login.Password.ResolveFor(ctx, t.Machine.Name)
	if err != nil {
		return nil, err
	}
	select {
	case r.got <- password:
	default:
	}
	return provision.Facts{provision.FactResult: "passed"}, nil
}

// A worker has the secret from its own file; the server never sees it, nor the file's name.
func TestSecretsStayWithTheWorker(t *testing.T) {
	t.Parallel()
	opt := testOptions(t.TempDir())
	opt.Secrets = filepath.Join(opt.State, "secrets.yaml")
	if err := os.WriteFile(opt.Secrets, []byte("bmc: "+planted+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := resolving{make(chan string, 1)}
	opt.Worker = w
	e := open(t, opt)
	serve(t, e)
	b := enginetest.Batch(t, "job", 1)
	b.Machines[0].Login.Password = "secret:bmc"
	id, err := e.Submit(t.Context(), b, enginetest.NewWorld().Workflow())
	if err != nil {
		t.Fatal(err)
	}
	until(t, e, id, func(r *provision.Run) bool { return r.Finished() })
	if got := <-w.got; got != planted {
		t.Errorf("the worker has %q", got)
	}
	var all strings.Builder
	for _, workflow := range []string{e.names.run(id), e.names.machine(id, "m1"), e.names.limiter()} {
		h := e.client.GetWorkflowHistory(t.Context(), workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for h.HasNext() {
			ev, err := h.Next()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&all, ev)
			for _, p := range []*common.Payloads{
				ev.GetWorkflowExecutionStartedEventAttributes().GetInput(), ev.GetWorkflowExecutionSignaledEventAttributes().GetInput(),
				ev.GetActivityTaskScheduledEventAttributes().GetInput(), ev.GetActivityTaskCompletedEventAttributes().GetResult(),
			} {
				fmt.Fprintln(&all, payloads.ToStrings(p))
			}
		}
	}
	if text := all.String(); strings.Contains(text, planted) || strings.Contains(text, opt.Secrets) || !strings.Contains(text, "secret:bmc") {
		t.Errorf("the histories hold the secret: %v, its file: %v, its reference: %v", strings.Contains(text, planted), strings.Contains(text, opt.Secrets), strings.Contains(text, "secret:bmc"))
	}
}
