package provision

import "context"

// Aside is the error by which a step gives its place to others while it waits for one of
// them: the engine gives back its slot and its rack's power, calls Wait, and then begins
// the step again from the start. It is no failed try.
type Aside struct {
	Why  string                // for people: what it waits for
	Wait func(context.Context) // until it may go on, or ctx ends; bounded by itself
}

// Error tells what the step waits for.
func (a *Aside) Error() string { return a.Why }
