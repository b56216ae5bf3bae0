package provision

import "context"

// leaveImage switches a host off that runs an image of ours, and touches nothing else. A
// machine that failed stays as it is for the retest, as at handover.
type leaveImage struct{}

func (leaveImage) Name() string { return "leave-image" }

func (leaveImage) Done(ctx context.Context, e *Env) (bool, error) {
	if !inOurImage(e) {
		e.Facts[FactHandover] = "BIOS untouched; in its installed system, as found"
		return true, nil
	}
	failed, err := handover{}.failedBefore(ctx, e)
	if err != nil {
		return false, err
	}
	if failed {
		e.Facts[FactHandover] = "not handed over: it failed, and stays in the image of the test until the retest"
		return true, nil
	}
	if e.Facts[factLeft] == "" {
		return false, nil
	}
	e.Facts[FactHandover] = "BIOS untouched; " + handover{}.stateWords(e)
	return true, nil
}

func (leaveImage) Do(ctx context.Context, e *Env) (Facts, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.leaving(ctx, c); err != nil {
		return nil, err
	}
	return handover{}.off(ctx, e, c, leftOff)
}
