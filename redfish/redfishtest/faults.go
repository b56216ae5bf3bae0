package redfishtest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fault is one that is switched on.
type fault struct {
	value string
	left  int // firings left; 0 means until it is switched off
	seen  int // how often it was asked, for those that act every Nth time
}

type faults map[string]*fault

// SetFault switches a fault on or off. The spec is NAME, NAME=VALUE, and either
// with *TIMES behind it, after which the fault is over: "lost-response=power.on*1".
// What VALUE means says [Faults]. Switching on again replaces.
func (b *BMC) SetFault(spec string, on bool) error {
	rest, times, counted := strings.Cut(spec, "*")
	name, value, _ := strings.Cut(rest, "=")
	known, ok := findFault(name)
	if !ok {
		return fmt.Errorf("simulated BMC: no fault %q; known: %s", name, strings.Join(FaultNames(), ", "))
	}
	f := &fault{value: value}
	if value == "" {
		f.value = known.Default
	}
	if counted {
		n, err := strconv.Atoi(times)
		if err != nil || n < 1 {
			return fmt.Errorf("simulated BMC: fault %q: *TIMES must be a number above 0", spec)
		}
		f.left = n
	}
	if err := known.check(f); err != nil {
		return fmt.Errorf("simulated BMC: fault %q: %w", spec, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !on {
		delete(b.faults, name)
		return nil
	}
	b.faults[name] = f
	return nil
}

// ActiveFaults names the faults that are on, sorted.
func (b *BMC) ActiveFaults() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.faults))
}

// fire reports whether the fault is on, with its value, and uses one firing up.
func (f faults) fire(name string) (string, bool) {
	on, ok := f[name]
	if !ok {
		return "", false
	}
	if on.left > 0 {
		if on.left--; on.left == 0 {
			delete(f, name)
		}
	}
	return on.value, true
}

// fireOn fires only when subject begins with the fault's value; no value is any subject.
func (f faults) fireOn(name, subject string) bool {
	if on, ok := f[name]; !ok || !strings.HasPrefix(subject, on.value) {
		return false
	}
	_, fired := f.fire(name)
	return fired
}

// fireOnAct is fireOn for acts; those of sessions must be named to be meant.
func (f faults) fireOnAct(name, act string) bool {
	on, ok := f[name]
	if !ok || (on.value == "" && strings.HasPrefix(act, "session.")) {
		return false
	}
	return f.fireOn(name, act)
}

// fireNth fires at every Nth asking, N being the fault's value.
func (f faults) fireNth(name string) bool {
	on, ok := f[name]
	if !ok {
		return false
	}
	n, _ := strconv.Atoi(on.value) // checked when set
	if on.seen++; on.seen%n != 0 {
		return false
	}
	_, fired := f.fire(name)
	return fired
}

// fires is fire for callers that do not hold the lock.
func (b *BMC) fires(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.faults.fire(name)
	return ok
}

// before acts on a request that has not been looked at. It reports the answer
// to send, if any, and whether the request ends here.
func (b *BMC) before(w http.ResponseWriter, r *http.Request, req *request) (*reply, bool) {
	b.mu.Lock()
	reset := b.faults.fireNth("reset-connection") || b.away
	hang := b.faults.fireOn("hang", req.uri)
	slow, slowed := b.faults.fire("slow")
	b.mu.Unlock()

	switch {
	case reset:
		cut(w, true)
		return nil, true
	case hang:
		b.waitFor(r)
		cut(w, false)
		return nil, true
	}
	delay := b.opts.Latency
	if slowed {
		d, _ := time.ParseDuration(slow) // checked when set
		delay += d
	}
	if !b.pause(r, delay) {
		cut(w, false)
		return nil, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.faults.fireOn("sick", req.uri) || b.faults.fireOn("sick-for-good", req.uri) {
		answer := failure(http.StatusInternalServerError, baseRegistry+"InternalError", "The service behind it does not answer.")
		return &answer, true
	}
	if _, ok := b.faults.fire("not-ready"); ok {
		answer := b.vendor.notReady()
		return &answer, true
	}
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && b.faults.fireOn("gzip-required", "") {
		answer := failure(http.StatusNotAcceptable, baseRegistry+"HeaderInvalid", "Accept-Encoding must name gzip.")
		return &answer, true
	}
	if _, ok := b.faults.fire("html-error"); ok {
		answer := htmlReply(http.StatusGatewayTimeout)
		return &answer, true
	}
	return nil, false
}

// after may keep back the answer to an act that took effect; it reports whether it did.
func (b *BMC) after(w http.ResponseWriter, r *http.Request, req *request) bool {
	lost, hang := false, false
	b.mu.Lock()
	for _, act := range req.acts {
		lost = lost || b.faults.fireOnAct("lost-response", act)
		hang = hang || b.faults.fireOnAct("hang-after", act)
	}
	b.mu.Unlock()
	if hang {
		b.waitFor(r)
	}
	if lost || hang {
		cut(w, false)
	}
	return lost || hang
}

// waitFor the client to give up, or the BMC to close.
func (b *BMC) waitFor(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-b.ctx.Done():
	}
}

// pause reports whether the client is still there afterwards.
func (b *BMC) pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-b.ctx.Done():
	}
	return false
}

// effect is the one place where the machine is changed on request. A fault can
// take the effect away while the answer stays that of success.
func (b *BMC) effect(req *request, name, detail string, do func()) {
	lost := b.losesEffect(req, name)
	b.ledger.act(Act{Name: name, URI: req.uri, Detail: detail, Lost: lost})
	b.log.Debug("act", "name", name, "uri", req.uri, "detail", detail, "lost", lost)
	if lost {
		return
	}
	req.acts = append(req.acts, name)
	do()
}

func (b *BMC) losesEffect(req *request, name string) bool {
	if b.faults.fireOnAct("lost-effect", name) {
		return true
	}
	specific := ""
	switch kind, _, _ := strings.Cut(name, "."); kind {
	case "boot":
		specific = "boot-ignored"
	case "bios":
		specific = "bios-ignored"
	case "power":
		specific = "power-stuck"
	case "media":
		specific = "media-ignored"
	}
	if _, ok := b.faults.fire(specific); ok {
		return true
	}
	if req.method != http.MethodPatch {
		return false
	}
	_, ok := b.faults.fire("patch-ignored")
	return ok
}
