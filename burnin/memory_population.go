package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// memoryPopulation asks whether all memory modules are there, of the right size,
// and on every channel.
var memoryPopulation = Check{
	Name:   "memory.population",
	Title:  "All DIMMs are there, of the right size, on every channel",
	Probes: []string{"dmidecode", "bmc-inventory"},
	AtBoot: []string{"count", "total", "channels"},
	Same:   true,
	Judge:  judgeMemoryPopulation,
}

// dimm is one memory module or empty socket, from whichever source shows it.
type dimm struct {
	label, serial string
	place         dimmPlace
	placed        bool
	empty         bool
	size          Opt[float64] // MiB
}

// memoryView is what is known of the memory.
type memoryView struct {
	dimms []dimm
	bmc   []BMCPart
	cpus  int
	refs  []string
	err   error
	sized bool // the source gives every module a size: the firmware's table does
}

func judgeMemoryPopulation(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	v := viewMemory(r)
	about := func(quantity string, part Part) Finding { return About("memory.population", quantity, part, v.refs...) }
	if v.err != nil {
		return []Finding{
			about("count", memoryPart).absent(v.err, p.Memory.DIMMs),
			about("total", memoryPart).absent(v.err, p.Memory.Total),
			about("size", memoryPart).absent(v.err, p.Memory.DIMMSize),
			about("channels", memoryPart).absent(v.err, p.Memory.ChannelsPerSocket),
		}
	}
	have := v.filled(true)
	missing, certain := v.missing(p.Memory.DIMMs)
	count := about("count", memoryPart).Number(float64(len(have)), profiles.Count, p.Memory.DIMMs)
	if len(missing) > 0 {
		words := "missing: "
		if !certain {
			words = "one of these sockets should hold one: "
		}
		count = count.Because("%d DIMMs are there; %s%s", len(have), words, strings.Join(missing, ", "))
	}
	if err := v.unread(); err != nil && count.Verdict == Pass {
		count = count.Missing(err)
	}
	out := []Finding{count, v.total(about("total", memoryPart), p)}
	if certain {
		for _, label := range missing {
			out = append(out, about("present", dimmPart(label, "")).Judged(Fail, "no working module in socket "+label))
		}
	}
	out = append(out, v.sizes(about, p)...)
	return append(out, v.channels(about, p)...)
}

// viewMemory reads the firmware's table, else the BMC's list.
func viewMemory(r *Readings) memoryView {
	v := memoryView{}
	bmc := Read(r, BMCInventory, PhaseBMC)
	if bmc.OK() {
		v.bmc = bmc.Value.DIMMs
	}
	dmi := ReadAny(r, Dmidecode, PhaseBefore, PhaseAfter)
	switch {
	case dmi.OK() && len(dmi.Value.Modules) > 0:
		t := dmi.Value
		v.sized = true
		v.cpus, v.refs = t.Sockets, withoutBlanks([]string{dmi.Ref, bmc.Ref})
		for _, m := range t.Modules {
			d := dimm{label: m.Label(t.Modules), serial: m.Serial, empty: m.Empty, size: m.Size}
			d.place, d.placed = placeOf(m.Locator, m.Bank)
			v.dimms = append(v.dimms, d)
		}
	case len(v.bmc) > 0:
		v.refs = []string{bmc.Ref}
		for _, b := range v.bmc {
			d := dimm{label: b.Label, serial: b.Serial, empty: !b.Present, size: b.Size}
			d.place, d.placed = placeOf(b.Label, "")
			v.dimms = append(v.dimms, d)
		}
	case dmi.OK():
		v.err = errors.New("dmidecode shows no memory sockets (type 17)")
	default:
		v.err = dmi.Err
	}
	v.placeByBMC()
	return v
}

// placeByBMC fills in channels from the BMC where labels do not tell them.
func (v *memoryView) placeByBMC() {
	for i := range v.dimms {
		d := &v.dimms[i]
		for _, b := range v.bmc {
			same := sameLabel(d.label, b.Label) || d.serial != "" && sameModule(d.serial, b.Serial)
			if same && d.place.channel == "" && b.Socket.Set && b.Channel.Set {
				d.place = dimmPlace{cpu: b.Socket.Text, channel: b.Channel.Text}
				d.placed = true
			}
		}
	}
}

// unread says which module the firmware lists without having been able to size it,
// or nil: memory that was not trained is there and does not work.
func (v *memoryView) unread() error {
	for _, d := range v.filled(true) {
		if v.sized && !d.size.Set {
			return fmt.Errorf("the size of the module in socket %s reads %q", d.label, d.size.Text)
		}
	}
	return nil
}

// filled returns the sockets with a module, or those without.
func (v *memoryView) filled(want bool) []dimm {
	return slices.DeleteFunc(slices.Clone(v.dimms), func(d dimm) bool { return d.empty == want })
}

func (v *memoryView) total(f Finding, p *profiles.Profile) Finding {
	sum := 0.0
	for _, d := range v.filled(true) {
		if !d.size.Set {
			return f.absent(fmt.Errorf("the size of DIMM %s reads %q", d.label, d.size.Text), p.Memory.Total)
		}
		sum += d.size.V
	}
	return f.Number(sum/1024, profiles.GiB, p.Memory.Total)
}

// sizes judges each module where the order names a size; else a module that is
// unlike its siblings is worth a remark.
func (v *memoryView) sizes(about func(string, Part) Finding, p *profiles.Profile) []Finding {
	have := v.filled(true)
	var out []Finding
	if p.Memory.DIMMSize.Set() {
		for _, d := range have {
			f := about("size", dimmPart(d.label, d.serial))
			out = append(out, f.number(scaled(d.size, 1.0/1024), profiles.GiB, p.Memory.DIMMSize))
		}
		return out
	}
	common := mostCommon(have)
	for _, d := range have {
		if d.size.Set && d.size.V != common {
			f := about("size", dimmPart(d.label, d.serial))
			f.Measured, f.Unit = d.size.V/1024, string(profiles.GiB)
			out = append(out, f.Judged(Warn, fmt.Sprintf("%g GiB, while most DIMMs have %g GiB", d.size.V/1024, common/1024)))
		}
	}
	return out
}

func mostCommon(have []dimm) float64 {
	count := map[float64]int{}
	best := 0.0
	for _, d := range have {
		if d.size.Set {
			count[d.size.V]++
			if count[d.size.V] > count[best] || count[d.size.V] == count[best] && d.size.V > best {
				best = d.size.V
			}
		}
	}
	return best
}
