package burnin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// attemptOpen says what keeps an attempt from being one test from end to end: a
// restart in the middle, or a load that did not run through. Nothing is asked of
// loose files.
func attemptOpen(r *Readings, p *profiles.Profile, s *profiles.Spec) []NotRun {
	if r.Coverage() == CoverPartial {
		return nil
	}
	var out []NotRun
	if err := oneBoot(r.rec); err != nil {
		out = append(out, NotRun{Check: "soak", Quantity: "restart", Part: machinePart.Name, Scope: profiles.Required, Why: err.Error()})
	}
	if !r.loaded() {
		return out
	}
	for _, class := range loadedClasses(r, p) {
		if err := loadRan(r.rec, class); err != nil {
			out = append(out, NotRun{Check: "soak", Quantity: "load", Part: className(class), Scope: s.ScopeOf("soak", "load"), Why: err.Error()})
		}
	}
	return out
}

// oneBoot is an error where the machine was booted anew between the phases: counters
// begin at zero then, and nobody knows what happened to the machine.
func oneBoot(rec *Record) error {
	first := map[string]string{} // boot id → evidence
	for _, e := range rec.Evidence {
		if e.BootID != "" && first[e.BootID] == "" && slices.Contains(machinePhases, e.Phase) {
			first[e.BootID] = e.Ref()
		}
	}
	if len(first) < 2 {
		return nil
	}
	return fmt.Errorf("the machine was restarted in the middle of the test: %s are of different boots; find out why, then test again",
		strings.Join(slices.Sorted(maps.Values(first)), " and "))
}

// loadedClasses are the classes of part that a load must have kept busy.
func loadedClasses(r *Readings, p *profiles.Profile) []Class {
	classes := []Class{ClassCPU}
	if p.Load.MemoryShare.Set() {
		classes = append(classes, ClassDIMM)
	}
	if len(nvmeParts(r, p)) > 0 {
		classes = append(classes, ClassNVMe)
	}
	if n, set := wantedGPUs(p); set && n > 0 {
		classes = append(classes, gpuClass(p))
	}
	return classes
}

// loadRan is an error unless a load that keeps a class busy came to its own good end.
func loadRan(rec *Record, class Class) error {
	if isGPU(class) && len(rec.Meta.Dropped) > 0 {
		return errors.New(droppedWords(rec))
	}
	why := errors.New("no load of it is on record")
	for _, l := range Loads() {
		e := rec.find(PhaseLoad, l.Name, "")
		if e == nil || l.Alone > 0 || !slices.Contains(l.Busy, class) {
			continue
		}
		if why = l.failed(e); why == nil {
			return nil
		}
	}
	return why
}

// failed says why a load did not run through, or nil. Its exit status alone is not
// believed: programs of this kind have ended with 0 after finding a fault.
func (l Load) failed(e *Evidence) error {
	switch {
	case e.Ended == EndedNoTool:
		return errors.New(notThere(l.Tool))
	case e.Ended != EndedExit || e.Exit == nil:
		return fmt.Errorf("the load %s did not come to its end (%s after %.0f s)", l.Name, e.Ended, e.Seconds)
	case *e.Exit != 0:
		return fmt.Errorf("the load %s ended with exit status %d after %.0f s", l.Name, *e.Exit, e.Seconds)
	}
	said := string(e.Out) + "\n" + string(e.Err)
	for _, word := range l.Bad {
		if at := strings.Index(said, word); at >= 0 {
			return fmt.Errorf("the load %s says %q", l.Name, lineAt(said, at))
		}
	}
	return nil
}
