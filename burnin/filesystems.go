package burnin

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// Filesystems shows what is mounted, and what the tools of parallel filesystems say of
// their servers. It is asked where the profile names mounts. Each part is behind a
// line "#fs NAME EXIT".
var Filesystems = Probe[MountTable]{
	Spec: ProbeSpec{
		Name: "filesystems",
		Command: func(p *profiles.Profile) string {
			if p == nil || !p.Filesystem.Mounts.Set() {
				return ""
			}
			return filesystemsScript
		},
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Deadline: time.Minute,
		Root:     true,
	},
	Parse: parseFilesystems,
}

// filesystemsScript asks the kernel, then the tools: a mount whose server is gone
// hangs whoever touches it, so nothing here touches one but lfs, last.
const filesystemsScript = `
cat /proc/mounts; echo "#fs mounts $?"
if command -v mmlsmount >/dev/null 2>&1 || [ -x /usr/lpp/mmfs/bin/mmlsmount ]; then PATH=$PATH:/usr/lpp/mmfs/bin mmlsmount all -Y; echo "#fs mmlsmount $?"; fi
if command -v lfs >/dev/null 2>&1; then lfs check all 2>&1; echo "#fs lfs-check $?"; lfs df 2>&1; echo "#fs lfs-df $?"; fi
echo "#rackproof-filesystems-end"
`

const filesystemsEnd = "#rackproof-filesystems-end"

// MountTable is what is mounted.
type MountTable struct {
	Mounts   []Mount
	Complete bool            // a mount that is not in it is not there
	Asked    map[string]bool // tools that answered without an error: "mmlsmount", "lfs-check", "lfs-df"
	Inactive []string        // servers or targets that do not answer, as lfs names them
}

// Mount is one line of /proc/mounts.
type Mount struct{ Device, Path, Type, Options string }

var (
	fsSection = regexp.MustCompile(`^#fs (mounts|mmlsmount|lfs-check|lfs-df) (\d+)$`)
	fsMount   = regexp.MustCompile(`^(\S+) (/\S*) (\S+) (\S+) \d+ \d+$`)
	// "lustre-OST0003_UUID : inactive device", "lfs check: error: check 'lustre-OST0003-osc-ffff': Resource temporarily unavailable (11)"
	lfsInactive = regexp.MustCompile(`(?i)^(\S+)\s*:\s*(inactive device|not active)`)
	lfsCheck    = regexp.MustCompile(`(?i)check '?([^':\s]+)'?:? .*(?:unavailable|timed out|not connected)`)
)

// mountEscapes are how /proc/mounts writes what would part its fields.
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`)

func parseFilesystems(e *Evidence) (MountTable, error) {
	body, _ := e.Body()
	t := MountTable{Asked: map[string]bool{}}
	marks := false
	for _, line := range lines(body) {
		switch m := fsSection.FindStringSubmatch(line); {
		case m != nil:
			marks = true
			t.Asked[m[1]] = m[2] == "0"
			continue
		case line == filesystemsEnd:
			t.Complete = t.Asked["mounts"]
			continue
		}
		if m := fsMount.FindStringSubmatch(line); m != nil {
			t.Mounts = append(t.Mounts, Mount{Device: mountEscapes.Replace(m[1]), Path: mountEscapes.Replace(m[2]), Type: m[3], Options: m[4]})
			continue
		}
		for _, form := range []*regexp.Regexp{lfsInactive, lfsCheck} {
			if m := form.FindStringSubmatch(line); m != nil && !slices.Contains(t.Inactive, m[1]) {
				t.Inactive = append(t.Inactive, m[1])
			}
		}
	}
	if !marks && len(t.Mounts) == 0 && len(t.Inactive) == 0 {
		return MountTable{}, errors.New("filesystems: the output shows no mount" + firstLine(e.Err))
	}
	return t, nil
}

// At returns what is mounted at a path, the last of several, or nil.
func (t *MountTable) At(path string) *Mount {
	for i := range slices.Backward(t.Mounts) {
		if t.Mounts[i].Path == path {
			return &t.Mounts[i]
		}
	}
	return nil
}
