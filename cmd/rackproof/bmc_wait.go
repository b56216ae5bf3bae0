package main

import "time"

// gracefulWait is how long an operating system may take to shut down before its
// power is cut.
const gracefulWait = 3 * time.Minute

// powerWaits is what a change of the power state waits for.
func powerWaits(action string) string {
	switch action {
	case "off":
		return "waits for the operating system to shut down, after " + gracefulWait.String() + " its power is cut"
	case "ac-cycle":
		return "waits for the machine to come back; its BMC starts too, which takes minutes"
	case "":
		return ""
	}
	return "waits for the host to show " + action
}

// waitWord is how long a person waits for a BMC without a word.
const waitWord = 10 * time.Second

// waitWords tells, every now and then until the function it returns is called, that
// a BMC is still waited for.
func (a *app) waitWords(addr, what string, every time.Duration) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case now := <-tick.C:
				a.progress("BMC %s: %s; %s so far", addr, or(what, "waits for its answer"), now.Sub(began).Round(time.Second))
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}
