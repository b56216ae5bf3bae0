package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// filesystemParallel asks whether the parallel filesystems of the order are mounted
// for writing, and whether their servers answer. It reads and writes no file on them.
var filesystemParallel = Check{
	Name:   "filesystem.parallel",
	Title:  "The parallel filesystems are mounted, and their servers answer",
	Probes: []string{Filesystems.Spec.Name},
	Judge:  judgeFilesystemParallel,
}

func judgeFilesystemParallel(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "filesystem.parallel"
	want := p.Filesystem.Mounts
	part := func(path string) Part { return Part{Class: ClassImage, Name: "filesystem " + path} }
	if !want.Set() {
		return []Finding{About(check, "mounted", part("of the order")).NotHere("the profile names no mount")}
	}
	readings := phaseReadings(r, Filesystems)
	var out []Finding
	for _, path := range want.Text {
		mounted, servers := About(check, "mounted", part(path)), About(check, "servers", part(path))
		if len(readings) == 0 {
			out = append(out, mounted.Missing(fmt.Errorf("filesystems: %w", ErrNotRun)))
			continue
		}
		out = append(out,
			worstOf(readings, mounted, func(f Finding, t MountTable) Finding { return t.mounted(f, path, &p.Filesystem) }),
			worstOf(readings, servers, func(f Finding, t MountTable) Finding { return t.servers(f, path) }))
	}
	return out
}

// mounted judges one path by the kernel's table.
func (t *MountTable) mounted(f Finding, path string, want *profiles.Filesystem) Finding {
	m := t.At(path)
	switch {
	case m == nil && !t.Complete:
		return f.Missing(errors.New("the table of mounts is not known to be whole"))
	case m == nil:
		return f.against(want.Mounts).decide(false).Because("nothing is mounted at %s", path)
	}
	f.Measured = m.Type
	switch {
	case slices.Contains(strings.Split(m.Options, ","), "ro"):
		return f.Judged(Fail, m.Type+" from "+m.Device+" is mounted for reading only")
	case want.Types.Set():
		return f.Word(m.Type, want.Types).Because("%s from %s", m.Type, m.Device)
	}
	return f.against(want.Mounts).decide(true).Because("%s from %s", m.Type, m.Device)
}

// servers judges what the filesystem's own tool says of the servers behind a mount.
func (t *MountTable) servers(f Finding, path string) Finding {
	m := t.At(path)
	if m == nil {
		return f.NotHere("nothing is mounted")
	}
	switch m.Type {
	case "lustre":
		if gone := t.behind(m); len(gone) > 0 {
			f.Measured = strings.Join(gone, ", ")
			return f.Judged(Fail, "servers that do not answer: "+strings.Join(gone, ", "))
		}
		if !t.Asked["lfs-check"] || !t.Asked["lfs-df"] {
			return f.Missing(errors.New(notThere("lfs") + ", or could not ask every server"))
		}
	case "gpfs":
		if !t.Asked["mmlsmount"] {
			return f.Missing(errors.New(notThere("mmlsmount") + ", or gave no answer"))
		}
	default:
		return f.NotHere("no tool is known that asks the servers of " + m.Type)
	}
	return f.Judged(Pass, "every server answers")
}

// behind are the targets that do not answer and belong to a mount: their names begin
// with that of the filesystem, which is the last part of what is mounted.
func (t *MountTable) behind(m *Mount) []string {
	name := m.Device[strings.LastIndexByte(m.Device, '/')+1:]
	return slices.DeleteFunc(slices.Clone(t.Inactive), func(target string) bool { return name != "" && !strings.HasPrefix(target, name+"-") })
}
