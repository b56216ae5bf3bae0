package burnin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// nvmeCount asks whether all NVMe drives are there and large enough.
var nvmeCount = Check{
	Name:   "nvme.count",
	Title:  "All NVMe drives are there, and as large as ordered",
	Probes: []string{"pci-sysfs", "lspci", "nvme-list", "bmc-inventory"},
	AtBoot: []string{"count"},
	Same:   true,
	Judge:  judgeNVMeCount,
}

var drivesPart = Part{Class: ClassNVMe, Name: "NVMe drives"}

func judgeNVMeCount(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	parts := nvmeParts(r, p)
	out := []Finding{countDrives(r, p, parts)}
	for _, d := range parts {
		f := About("nvme.count", "capacity", d.Part, driveRefs(r)...)
		switch {
		case !p.NVMe.CapacityMin.Set():
		case !d.Shown:
			out = append(out, f.Missing(errDriveNotShown))
		case !d.Capacity.Set:
			out = append(out, f.Missing(errors.New("no tool shows how large it is")))
		default:
			out = append(out, f.number(scaled(d.Capacity, 1e-12), profiles.TB, p.NVMe.CapacityMin))
		}
	}
	return out
}

// countDrives counts on the bus, else in the list of nvme-cli; the fewest of all
// readings counts. Health logs of some drives do not say how many there are.
func countDrives(r *Readings, p *profiles.Profile, parts []nvmePart) Finding {
	f := About("nvme.count", "count", drivesPart)
	fewest, err := -1, error(nil)
	for _, c := range driveCounts(r) {
		if c.err != nil {
			err = c.err
			continue
		}
		f.Evidence = append(f.Evidence, c.ref)
		if fewest < 0 || c.n < fewest {
			fewest = c.n
		}
	}
	if fewest < 0 {
		if err == nil {
			err = fmt.Errorf("pci-sysfs, lspci and nvme-list: %w", ErrNotRun)
		}
		return f.absent(err, p.NVMe.Count)
	}
	f = f.Number(float64(fewest), profiles.Count, p.NVMe.Count)
	switch {
	case f.Verdict == Pass && err != nil: // not counted again behind the load
		return f.Missing(err)
	case f.Verdict != Fail:
		return f
	}
	var missing []string
	for _, d := range parts {
		if !d.Shown && d.Serial != "" {
			missing = append(missing, fmt.Sprintf("%s (S/N %s)", d.Name, d.Serial))
		}
	}
	why := fmt.Sprintf("%d drives are there", fewest)
	if len(missing) > 0 {
		why += "; the BMC lists also " + strings.Join(missing, ", ")
	}
	return f.Because("%s", why)
}

type driveCount struct {
	n   int
	ref string
	err error
}

// driveCounts counts the drives in each reading of the first source that is there.
// A listing that is not known to be whole cannot show that one is missing, but a
// file handed over is taken for what it says.
func driveCounts(r *Readings) []driveCount {
	var out []driveCount
	for _, probe := range []Probe[*PCITree]{PCISysfs, LSPCI} {
		for _, reading := range phaseReadings(r, probe) {
			c := driveCount{ref: reading.Ref, err: reading.Err}
			if reading.OK() {
				c.n = len(reading.Value.Of(pciNVMe))
				c.err = wholeOr(reading.Value.Complete, reading.Evidence)
			}
			out = append(out, c)
		}
		if len(out) > 0 && out[0].err == nil {
			return out
		}
	}
	for _, reading := range phaseReadings(r, NVMeList) {
		c := driveCount{n: len(reading.Value.Drives), ref: reading.Ref, err: reading.Err}
		if reading.OK() {
			c.err = wholeOr(reading.Value.Complete, reading.Evidence)
		}
		out = append(out, c)
	}
	return out
}

// wholeOr says why a listing cannot be counted, or nil.
func wholeOr(complete bool, e *Evidence) error {
	if complete || e.Source == FromLoose {
		return nil
	}
	return fmt.Errorf("%s was cut short", e.Ref())
}

func driveRefs(r *Readings) []string {
	var refs []string
	for _, c := range driveCounts(r) {
		refs = append(refs, c.ref)
	}
	return refs
}
