package provision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Edit is how a batch file differs from what its run was started with, machine by
// machine.
type Edit struct {
	Added, Removed []string
	Changed        []string // not finished: they take the new values
	Identity       []string // of Changed: another serial, UUID or BMC: a person must agree
	What           []string // beside Identity: "serial", "UUID" or "BMC"
	Judged         []string // finished, another profile or spec: judged again, nothing is burned in
	Kept           []string // finished, changed otherwise: they keep what they were tested as
	Untouched      int
	Settings       bool // something of the batch as a whole changed
}

// Compare finds the differences between the batch of a run and a new one of the
// same name.
func Compare(r *Run, b *Batch) Edit {
	var e Edit
	for _, m := range b.Machines {
		old := r.Find(m.Name)
		switch {
		case old == nil:
			e.Added = append(e.Added, m.Name)
		case same(old.Machine, m):
			e.Untouched++
		case old.Over() && judgedOtherwise(old.Machine, m):
			e.Judged = append(e.Judged, m.Name)
		case old.Over():
			e.Kept = append(e.Kept, m.Name)
		default:
			e.Changed = append(e.Changed, m.Name)
			if what := otherMachine(old.Machine, m); what != "" {
				e.Identity, e.What = append(e.Identity, m.Name), append(e.What, what)
			}
		}
	}
	for i := range r.Machines {
		if _, ok := b.Find(r.Machines[i].Machine.Name); !ok {
			e.Removed = append(e.Removed, r.Machines[i].Machine.Name)
		}
	}
	e.Settings = !same(settings(r.Batch), settings(b))
	return e
}

// judgedOtherwise reports whether o and m differ only in what they are judged by.
func judgedOtherwise(o, m Machine) bool {
	if o.ProfileSHA256 == m.ProfileSHA256 && o.SpecSHA256 == m.SpecSHA256 {
		return false
	}
	o.judgeBy(m)
	return same(o, m)
}

// otherMachine names what makes m another machine than o, "" when nothing does.
func otherMachine(o, m Machine) string {
	switch {
	case o.Serial != m.Serial:
		return "serial"
	case o.UUID != m.UUID:
		return "UUID"
	case o.BMC != m.BMC:
		return "BMC"
	}
	return ""
}

// settings is a batch without its machines and what hangs on them.
func settings(b *Batch) Batch {
	s := *b
	s.Machines, s.Resolved, s.Source = nil, nil, ""
	return s
}

// same compares by the form that is journaled.
func same(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// Empty reports whether there is nothing that a run must take over.
func (e Edit) Empty() bool {
	return len(e.Added)+len(e.Removed)+len(e.Changed)+len(e.Judged) == 0 && !e.Settings
}

// String says it in one line: "2 added (a, b), 1 serial changed (c): asks, 377 untouched".
func (e Edit) String() string {
	var parts []string
	for _, p := range []struct {
		names         []string
		word, outcome string
	}{
		{e.Added, "added", ""},
		{e.Removed, "removed", ""},
		{e.other("serial"), "serial changed", ": asks"},
		{e.other("UUID"), "UUID changed", ": asks"},
		{e.other("BMC"), "BMC changed", ": asks"},
		{without(e.Changed, e.Identity), "changed", ""},
		{e.Judged, "finished, other profile or spec", ": judged again, nothing burned in"},
		{e.Kept, "changed but finished", ": kept as tested, `rackproof retest` tests anew"},
	} {
		if n := len(p.names); n > 0 {
			shown := strings.Join(p.names[:min(n, 3)], ", ")
			if n > 3 {
				shown += ", …"
			}
			parts = append(parts, fmt.Sprintf("%d %s (%s)%s", n, p.word, shown, p.outcome))
		}
	}
	if e.Settings {
		parts = append(parts, "settings changed")
	}
	return strings.Join(append(parts, fmt.Sprintf("%d untouched", e.Untouched)), ", ")
}

// other are the machines whose identity changed in what.
func (e Edit) other(what string) []string {
	var names []string
	for i, name := range e.Identity {
		if e.What[i] == what {
			names = append(names, name)
		}
	}
	return names
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

// EditError refuses a batch file that makes machines of an open run others.
type EditError struct {
	Run  RunID
	Edit Edit
}

func (e *EditError) Error() string {
	return fmt.Sprintf("run %s is open, and the batch file now says: %s; nothing was taken over, and no machine was contacted. If that is meant, add --yes", e.Run, e.Edit)
}
