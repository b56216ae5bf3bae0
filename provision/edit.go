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
	Kept           []string // finished: they keep what they were tested as
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
		case old.Over():
			e.Kept = append(e.Kept, m.Name)
		default:
			e.Changed = append(e.Changed, m.Name)
			o := old.Machine
			if o.Serial != m.Serial || o.UUID != m.UUID || o.BMC != m.BMC {
				e.Identity = append(e.Identity, m.Name)
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
	return len(e.Added)+len(e.Removed)+len(e.Changed) == 0 && !e.Settings
}

// String says it in one line: "2 added, 1 serial or BMC changed, 377 untouched".
func (e Edit) String() string {
	var parts []string
	for _, p := range []struct {
		names []string
		word  string
	}{
		{e.Added, "added"},
		{e.Removed, "removed"},
		{e.Identity, "serial, UUID or BMC changed"},
		{without(e.Changed, e.Identity), "changed"},
		{e.Kept, "changed but finished: kept as tested, `rackproof retest` tests anew"},
	} {
		if n := len(p.names); n > 0 {
			shown := strings.Join(p.names[:min(n, 3)], ", ")
			if n > 3 {
				shown += ", …"
			}
			parts = append(parts, fmt.Sprintf("%d %s (%s)", n, p.word, shown))
		}
	}
	if e.Settings {
		parts = append(parts, "settings changed")
	}
	return strings.Join(append(parts, fmt.Sprintf("%d untouched", e.Untouched)), ", ")
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
	return fmt.Sprintf("run %s is open, and the batch file now says: %s; nothing was taken over. If that is meant, add --yes", e.Run, e.Edit)
}
