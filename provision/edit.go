package provision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Edit is how a batch file differs from what its run was started with, machine by
// machine.
type Edit struct {
	Added, Removed []string
	Changed        []string // not finished: they take the new values
	Identity       []string // of Changed and Kept: another serial, UUID or BMC: a person must agree
	What           []string // beside Identity: "serial", "UUID" or "BMC"
	Judged         []string // finished, another profile, spec or plan of cables: judged again, nothing is burned in
	Kept           []string // finished, changed otherwise: they keep what they were tested as
	Untouched      int
	Unknown        bool // a retest of a finished machine would go by what the run does not know yet
	Settings       bool // something of the batch as a whole changed
}

// Compare finds the differences between the batch of a run and a new one of the
// same name.
func Compare(r *Run, b *Batch) Edit {
	var e Edit
	for _, m := range b.Machines {
		old := r.Find(m.Name)
		m = r.known(m)
		known, _ := r.Batch.Find(m.Name)
		e.Unknown = e.Unknown || old != nil && old.Over() && !same(known, m)
		switch {
		case old == nil:
			e.Added = append(e.Added, m.Name)
		case same(old.Machine, m):
			e.Untouched++
		case old.Over() && judgedOtherwise(old.Machine, m):
			e.Judged = append(e.Judged, m.Name)
		case old.Over() && same(old.Machine.withoutLogins(), m.withoutLogins()):
			e.Untouched++ // where its secrets are is no matter of a finished machine
		case old.Over():
			e.Kept = append(e.Kept, m.Name)
			e.identity(known, m)
		default:
			e.Changed = append(e.Changed, m.Name)
			e.identity(old.Machine, m)
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

// identity notes what makes m another machine than the run knows.
func (e *Edit) identity(known, m Machine) {
	if what := otherMachine(known, m); what != "" {
		e.Identity, e.What = append(e.Identity, m.Name), append(e.What, what)
	}
}

// withoutLogins is m without the ways to log in.
func (m Machine) withoutLogins() Machine {
	m.Login, m.SSH = BMCLogin{}, SSH{}
	return m
}

// judgedOtherwise reports whether o and m differ only in what they are judged by.
func judgedOtherwise(o, m Machine) bool {
	if o.ProfileSHA256 == m.ProfileSHA256 && o.SpecSHA256 == m.SpecSHA256 && maps.Equal(o.Cables, m.Cables) {
		return false
	}
	o.judgeBy(m)
	return same(o.withoutLogins(), m.withoutLogins())
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

// replanned reports whether b holds the run to another plan file than before.
func replanned(r *Run, b *Batch) bool { return b.Planned != nil && !same(r.Batch.Planned, b.Planned) }

// settings is a batch without its machines and what hangs on them.
func settings(b *Batch) Batch {
	s := *b
	s.Machines, s.Resolved, s.Arrived, s.Planned, s.Source = nil, nil, nil, nil, ""
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
		{e.Judged, "finished, other profile, spec or cables", ": judged again, nothing burned in"},
		{without(e.Kept, e.Identity), "changed but finished", ": kept as tested, `rackproof retest` tests anew"},
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

// EditError refuses a batch file that makes machines of a run others.
type EditError struct {
	Run  RunID
	Edit Edit
}

func (e *EditError) Error() string {
	return fmt.Sprintf("run %s is there, and the batch file now says: %s; nothing was taken over, and no machine was contacted. If that is meant, add --yes", e.Run, e.Edit)
}
