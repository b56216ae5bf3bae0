package provision

import (
	"errors"
	"time"
)

// Ending is an event by which one try of a step ends.
type Ending struct {
	Kind Kind
	Data any
}

// Endings are what an engine writes down when a try ended with err, in this order. A
// failed try that was the last one makes the machine STUCK; behind another one the step
// is tried again, after a pause.
func Endings(err error, s PlanStep, try int, facts Facts, began time.Time) (ends []Ending, again bool) {
	var (
		rung   *Rung
		down   *PutDown
		stuck  *Stuck
		hands  *Hands
		fault  *Fault
		broken *BrokenError
	)
	switch {
	case err == nil:
		return []Ending{{StepEnded, StepDone{Started: began.UTC(), Seconds: time.Since(began).Seconds(), Tries: try, Facts: facts}}}, false
	case errors.As(err, &rung):
		return []Ending{{StepFailed, Failure{Error: err.Error(), Try: try}}}, true
	case errors.As(err, &down):
		return []Ending{{HeldBack, down}}, false
	case errors.As(err, &stuck):
		return []Ending{{GotStuck, stuck}}, false
	case errors.As(err, &hands):
		return []Ending{{NeedsHands, hands}}, false
	case errors.As(err, &fault):
		do := ""
		if len(fault.Do) > 0 {
			do = fault.Do[0].Do
		}
		return []Ending{{StepFailed, Failure{Error: err.Error(), Line: fault.Line, Do: do, Fault: true, Try: try, Facts: facts}}}, false
	case errors.As(err, &broken):
		return []Ending{{Broke, Failure{Error: err.Error(), Try: try, Do: broken.Do}}}, false
	}
	ends = []Ending{{StepFailed, Failure{Error: err.Error(), Try: try}}}
	if again = try < max(s.Tries, 1); !again {
		ends = append(ends, Ending{GotStuck, Stuck{Why: s.Name + ": " + err.Error()}})
	}
	return ends, again
}
