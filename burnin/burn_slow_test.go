package burnin_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
)

// busyShell does not answer some calls in time: those of a verb, from the first on,
// as often as left says.
type busyShell struct {
	burnin.Shell
	verb string
	left int
}

func (s *busyShell) Run(ctx context.Context, c burnin.Command) (burnin.Output, error) {
	if verb, _, ok := burnin.NodeCall(c.Line); ok && verb == s.verb && s.left > 0 {
		s.left--
		time.Sleep(c.Deadline) //nolint:forbidigo // in a bubble: takes no time
		return burnin.Output{Started: time.Now(), Ended: burnin.EndedTimeout, Out: []byte("unit stress-ng lo")}, nil
	}
	return s.Shell.Run(ctx, c)
}

// A node that is too busy to answer is asked again, for as long as it would wait for
// us itself.
func TestBusyNode(t *testing.T) {
	for _, row := range []struct {
		name string
		left int
		want string // in the error; "" = none
	}{
		{"answers again", 1, ""},
		{"never answers again", 1 << 30, "does not answer in time"},
	} {
		t.Run(row.name, func(t *testing.T) {
			m, err := nodetest.New("l40s-8", "bench", 11)
			if err != nil {
				t.Fatal(err)
			}
			dir, to := storeFolder(t), judgedAs(t, m)
			synctest.Test(t, func(t *testing.T) {
				store, err := burnin.OpenStore(dir)
				if err != nil {
					t.Fatal(err)
				}
				busy := &busyShell{Shell: nodetest.Wire(m, nodetest.Boot{BootID: "0e3c1c2e-7d0f-4b8e-9a53-6a4f8a5d2f10"}), verb: "poll", left: row.left}
				node := &burnin.Node{Shell: busy, Origin: burnin.FromSSH, Probes: burnin.Probes(), Profile: to.profile}
				err = burnin.Burn(t.Context(), burnin.BurnOptions{
					Node: node, Store: store, Run: "test", Attempt: 1, Owner: "test@here", Duration: 8 * time.Second, Loads: burnin.Loads(),
				})
				if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
					t.Errorf("error %v, want %q", err, row.want)
				}
			})
		})
	}
}
