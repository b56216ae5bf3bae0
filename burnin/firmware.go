package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// BMCFirmware is the BMC's firmware inventory after what was updated, in the form of
// [BMCInventory].
var BMCFirmware = Probe[BMCTree]{
	Spec:  ProbeSpec{Name: "firmware", Phases: []Phase{PhaseBMC}},
	Parse: parseBMCInventory,
}

// firmware asks whether each component of which the profile states a version has it,
// and whether parts of one kind have one version. Without a stated version it records.
var firmware = Check{
	Name:   "firmware",
	Title:  "Firmware is as the profile or the order states it",
	Probes: []string{BMCFirmware.Spec.Name, BMCInventory.Spec.Name},
	BMC:    true,
	Judge:  judgeFirmware,
}

func judgeFirmware(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	tree := Read(r, BMCFirmware, PhaseBMC)
	if tree.Evidence == nil { // nothing was updated
		tree = Read(r, BMCInventory, PhaseBMC)
	}
	var out []Finding
	for _, name := range p.FirmwareOrder() {
		out = append(out, judgeComponent(tree, name, p.Firmware[name])...)
	}
	if len(out) == 0 {
		return []Finding{About("firmware", "all", machinePart).NotHere("the profile states no firmware version")}
	}
	return out
}

// judgeComponent judges every entry of one component. A component that the BMC does not
// list is a gap where its version is stated, and nothing where it is not.
func judgeComponent(tree Reading[BMCTree], name string, want profiles.Firmware) []Finding {
	missing := About("firmware", "version", firmwarePart(name), tree.Ref)
	if !tree.OK() {
		if !want.Version.Set() {
			return nil
		}
		return []Finding{missing.Missing(tree.Err)}
	}
	entries, byName := entriesOf(tree.Value.Firmware, want)
	var unread []string
	if want.Version.Set() {
		unread = tree.Value.unreadOf(want.Names, byName || len(entries) == 0)
	}
	switch {
	case len(entries) > 0:
	case !want.Version.Set():
		return nil
	default:
		return []Finding{missing.Missing(fmt.Errorf("the BMC lists no firmware entry %s%s", strings.Join(want.Entries, ", "), unreadWords(unread)))}
	}
	var out []Finding
	versions := map[string][]string{}
	for _, e := range entries {
		part := name
		if len(entries) > 1 {
			part += " " + e.id()
		}
		f, version := judgeEntry(About("firmware", "version", firmwarePart(part), tree.Ref), e, want)
		out = append(out, f)
		if version != "" {
			versions[version] = append(versions[version], e.id())
		}
	}
	for _, uri := range unread {
		f := About("firmware", "version", firmwarePart(name+" "+uri[strings.LastIndexByte(uri, '/')+1:]), tree.Ref)
		out = append(out, f.Missing(fmt.Errorf("the BMC lists %s, and it could not be read", uri)))
	}
	if len(versions) > 1 {
		f := About("firmware", "siblings", firmwarePart(name), tree.Ref)
		f.Measured = versionList(versions)
		out = append(out, f.Judged(Warn, "parts of one kind differ in firmware: "+versionList(versions)))
	}
	return out
}

func firmwarePart(name string) Part { return Part{Class: ClassFirmware, Name: "firmware " + name} }

// entriesOf are the entries of a component; byName says that a name told of one, and not its id.
func entriesOf(list []BMCPart, want profiles.Firmware) (entries []BMCPart, byName bool) {
	for _, e := range list {
		if want.Names(e.id(), e.Label) {
			entries = append(entries, e)
			byName = byName || !want.Names(e.id(), "")
		}
	}
	return entries, byName
}

// unreadWords says that the entry may be among those that could not be read.
func unreadWords(unread []string) string {
	if len(unread) == 0 {
		return ""
	}
	return "; not all entries could be read: " + strings.Join(unread, ", ")
}

func judgeEntry(f Finding, e BMCPart, want profiles.Firmware) (Finding, string) {
	version, ok := want.VersionIn(e.Model)
	if !ok {
		if !want.Version.Set() {
			f.Measured = e.Model
			return f.recorded(), ""
		}
		return f.Missing(fmt.Errorf("the BMC says %q, in which no version is recognised", e.Model)), ""
	}
	f.Measured = version
	if !want.Version.Set() {
		return f.recorded(), version
	}
	f = f.against(want.Version)
	f.Limit = want.Version.String()
	if len(want.Version.Text) == 0 {
		return f.Missing(errors.New("the profile's version is no text")), version
	}
	holds, known := want.Holds(version)
	if !known {
		return f.Missing(fmt.Errorf("nothing says whether %s or %s is the newer; state the versions that are right with equal or one_of", version, want.Version.Text[0])), version
	}
	return f.decide(holds), version
}

func versionList(versions map[string][]string) string {
	var out []string
	for version, ids := range versions {
		out = append(out, version+" ("+strings.Join(ids, ", ")+")")
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// id is the last word of a part's URI.
func (p BMCPart) id() string { return p.uri[strings.LastIndexByte(p.uri, '/')+1:] }
