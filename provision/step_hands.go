package provision

import (
	"context"
	"strconv"

	"github.com/rackproof/rackproof/burnin"
)

// hands waits for a person to do what the workflow says, and to say done. It holds no
// slot meanwhile, and asks anew when the run is resumed without that word.
type hands struct{}

func (hands) Name() string { return "hands" }

const (
	optSay     = "say"
	optMinutes = "minutes"

	// factAsked is how many words of people there were about the machine when it was
	// asked for this one.
	factAsked = "hands_asked"
)

func (hands) Done(_ context.Context, e *Env) (bool, error) {
	asked, err := strconv.Atoi(e.Facts[factAsked])
	return err == nil && len(e.Repairs) > asked, nil
}

func (hands) Do(ctx context.Context, e *Env) (Facts, error) {
	if e.Facts[factAsked] == "" { // durable, so that a word that comes is the answer to it
		if err := e.Learn(ctx, Facts{factAsked: strconv.Itoa(len(e.Repairs))}); err != nil {
			return nil, err
		}
	}
	say := e.With[optSay]
	minutes, _ := strconv.Atoi(e.With[optMinutes]) // checked where the workflow is read
	return nil, &Hands{
		Why: say, Where: or(e.Machine.Where(), e.Machine.Name),
		Do:   []burnin.Advice{{Do: say, Minutes: minutes, Who: OwnerHands, Retest: "the run goes on with its next step"}},
		Next: "rackproof done " + e.Machine.Name, Knows: "a person says done",
	}
}

// Plan implements Planner.
func (hands) Plan(_ context.Context, e *Env) ([]Change, error) {
	want := e.With[optSay]
	if m := e.With[optMinutes]; m != "" {
		want += " (" + m + " min)"
	}
	return []Change{{Step: "hands", What: "waits for a person:", Want: want}}, nil
}
