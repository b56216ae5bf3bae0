package provision

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/rackproof/rackproof/burnin"
)

// wipe takes the disks that are erased and how well: {disks: [SERIAL], level: purge}.
func (l *loader) wipe(m *Machine) func(ast.Node) {
	return func(n ast.Node) {
		w := &burnin.Wiping{}
		l.fields(n, "wipe", field{"disks": l.words(&w.Disks), "level": l.str((*string)(&w.Level))})
		m.Wipe = w
		switch w.Level {
		case burnin.WipeClear, burnin.WipePurge:
		default:
			l.problem(n, "wipe: state a level: purge (by the drive's own sanitize command), or clear")
		}
		if len(w.Disks) == 0 {
			l.problem(n, "wipe: name the disks by their serial numbers: disks: [S6CKNN0T500123]")
		}
		for i, serial := range w.Disks {
			switch {
			case !burnin.DiskSerial.MatchString(serial):
				l.problem(n, "wipe: %q is no serial number of a disk: lsblk -o NAME,SERIAL shows them", serial)
			case slices.Contains(w.Disks[:i], serial):
				l.problem(n, "wipe: disk %s is named twice", serial)
			}
		}
	}
}

// wipedOnce reports a disk that is to be erased in two machines: it can be in one only.
func (l *loader) wipedOnce() {
	first := map[string]string{}
	for i, m := range l.batch.Machines {
		if m.Wipe == nil {
			continue
		}
		for _, serial := range m.Wipe.Disks {
			if other, there := first[serial]; there && other != m.Name {
				l.add(l.rows[i].at("wipe"), "wipe: disk %s of %s is named at %s too: it can be in one of them only", serial, m.Name, other)
			}
			first[serial] = m.Name
		}
	}
}
