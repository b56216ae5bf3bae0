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

// Holds reports whether a version is as the limit wants it. known is false where that cannot be told: there is no
// limit, or nothing says which of two unequal versions is the newer.
func (f Firmware) Holds(version string) (holds, known bool) {
	l := f.Version
	switch {
	case !l.Set() || len(l.Text) == 0:
		return false, false
	case l.Relation == Min:
		order, ok := CompareVersions(version, l.Text[0])
		return ok && order >= 0, ok
	default:
		return slices.ContainsFunc(l.Text, func(want string) bool {
			order, ok := CompareVersions(version, want)
			return ok && order == 0
		}), true
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
