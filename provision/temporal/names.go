package temporal

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/rackproof/rackproof/provision"
)

// Names of what workers register, and of the signals between them.
const (
	runType     = "run"
	machineType = "machine"
	limiterType = "limiter"
	stepType    = "step"

	wordSignal    = "word"    // word: to run and machine
	askSignal     = "ask"     // ask: to the limiter
	grantedSignal = "granted" // int, the want's number: to the machine
)

// names are those of one site.
type names struct {
	Site   string `json:"site"`
	Prefix string `json:"prefix,omitempty"` // of workflow IDs; "" but in tests that share a server
}

func (n names) queue() string { return "rackproof-" + n.Prefix + n.Site }

func (n names) run(id provision.RunID) string { return n.Prefix + string(id) }

func (n names) machine(id provision.RunID, machine string) string {
	return n.run(id) + "/" + machine
}

// limiter cannot be the name of a run, which has no colon.
func (n names) limiter() string { return n.Prefix + "limiter:" + n.Site }

// Search attributes, all keywords.
var (
	attrBatch  = temporal.NewSearchAttributeKeyKeyword("RackproofBatch")
	attrRack   = temporal.NewSearchAttributeKeyKeyword("RackproofRack")
	attrResult = temporal.NewSearchAttributeKeyKeyword("RackproofResult")
)

// Setup registers the search attributes that runs are found by in a namespace. Those
// that are there already stay.
func Setup(ctx context.Context, c client.Client, namespace string) error {
	there, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("search attributes of namespace %s: %w", namespace, err)
	}
	missing := map[string]enums.IndexedValueType{}
	for _, a := range []temporal.SearchAttributeKeyKeyword{attrBatch, attrRack, attrResult} {
		kind, ok := there.GetCustomAttributes()[a.GetName()]
		if ok && kind != enums.INDEXED_VALUE_TYPE_KEYWORD {
			return fmt.Errorf("namespace %s has the search attribute %s with another type (%s); it must be Keyword", namespace, a.GetName(), kind)
		}
		if !ok {
			missing[a.GetName()] = enums.INDEXED_VALUE_TYPE_KEYWORD
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	if err != nil {
		return fmt.Errorf("search attributes of namespace %s: %w", namespace, err)
	}
	return nil
}

// defaultTimes are those of a hall: a worker that is silent for half a minute is lost.
func defaultTimes() times {
	return times{Heartbeat: 30 * time.Second, Backoff: 2 * time.Second, Retry: time.Second, Lease: 2 * time.Hour}
}
