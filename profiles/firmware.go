package profiles

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Firmware is one component of which the profile knows the firmware: which entries of a BMC's inventory are it, which
// version they must have, and how it is updated.
type Firmware struct {
	Entries []string `yaml:"entries" required:"true"` // globs over the Id of an entry, with "name:" before it over its name; letter case does not count
	Pattern string   `yaml:"pattern,omitempty"`       // regular expression whose first group is the version in what the BMC writes; "" = all of it
	Version *Limit   `yaml:"version,omitempty" unit:"firmware"`
	Order   int      `yaml:"order,omitempty"`                          // of updates: the lowest first
	Resets  string   `yaml:"resets,omitempty" enum:"none,bmc,host,ac"` // what brings an update into force
}

// Names reports whether an entry of the inventory is this component. An entry is known by its Id, since names are
// given again: an iDRAC calls the version before "BIOS" too.
func (f Firmware) Names(id, name string) bool {
	return slices.ContainsFunc(f.Entries, func(pattern string) bool {
		if ofName, ok := strings.CutPrefix(pattern, "name:"); ok {
			return matches(ofName, name)
		}
		return matches(pattern, id)
	})
}

// VersionIn gives the version in what a BMC writes: "1.4" of "BIOS Date: 08/04/2023 Ver 1.4". ok is false where the
// pattern does not fit: then nothing is known of the version.
func (f Firmware) VersionIn(text string) (version string, ok bool) {
	text = strings.TrimSpace(text)
	if f.Pattern == "" {
		return text, text != ""
	}
	re, err := regexp.Compile(f.Pattern)
	if err != nil {
		return "", false
	}
	found := re.FindStringSubmatch(text)
	if len(found) < 2 || found[1] == "" {
		return "", false
	}
	return found[1], true
}

// Holds reports whether a version is as the limit wants it.
func (f Firmware) Holds(version string) bool {
	l := f.Version
	switch {
	case !l.Set() || len(l.Text) == 0:
		return false
	case l.Relation == Min:
		return CompareVersions(version, l.Text[0]) >= 0
	default:
		return slices.ContainsFunc(l.Text, func(want string) bool { return CompareVersions(version, want) == 0 })
	}
}

// FirmwareOrder lists the components in the order of their updates.
func (p *Profile) FirmwareOrder() []string {
	return slices.SortedFunc(maps.Keys(p.Firmware), func(a, b string) int {
		return cmp.Or(cmp.Compare(p.Firmware[a].Order, p.Firmware[b].Order), cmp.Compare(a, b))
	})
}

// WithFirmware gives the profile with versions that each component must have at least: the newest of a folder of
// images, which the order states. p stays as it is. A component that the profile does not know is a problem: nothing
// says which entry it is.
func (p *Profile) WithFirmware(versions map[string]string, pos Position) (*Profile, error) {
	with, err := ParseResolved(p.bytes)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", p.Name, err)
	}
	var problems Problems
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		f, ok := with.Firmware[name]
		if !ok {
			known := slices.Sorted(maps.Keys(with.Firmware))
			problems.add(pos, "firmware: profile %s has no component %q; it knows %s", p.Name, name, strings.Join(known, ", "))
			continue
		}
		f.Version = &Limit{Relation: Min, Text: []string{versions[name]}, Provenance: FromAgreed, Source: "newest in the firmware folder of the batch", Pos: pos}
		with.Firmware[name] = f
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return with, with.seal()
}

// CompareVersions compares versions as people number them: runs of digits by value, runs of letters by the alphabet,
// whatever stands between them as a mere separator. 2.10 is above 2.9, 1.4a above 1.4, U8E122J above U8E120K.
func CompareVersions(a, b string) int {
	x, y := versionRuns(a), versionRuns(b)
	for i := range max(len(x), len(y)) {
		if c := compareRun(runAt(x, i), runAt(y, i)); c != 0 {
			return c
		}
	}
	return 0
}

var versionRun = regexp.MustCompile(`[0-9]+|[a-z]+`)

func versionRuns(s string) []string { return versionRun.FindAllString(strings.ToLower(s), -1) }

// runAt is run i, "" where there is none or it is zero: 1.0 is 1.0.0.
func runAt(runs []string, i int) string {
	if i >= len(runs) {
		return ""
	}
	return strings.TrimLeft(runs[i], "0")
}

// compareRun puts letters above nothing and numbers above letters.
func compareRun(a, b string) int {
	kind := func(run string) int {
		switch {
		case run == "":
			return 0
		case run[0] > '9':
			return 1
		}
		return 2
	}
	if c := cmp.Compare(kind(a), kind(b)); c != 0 || kind(a) < 2 {
		return cmp.Or(c, cmp.Compare(a, b))
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
