package burnin

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// wipe asks whether every disk that was to be erased is erased, as well as was agreed.
var wipe = Check{
	Name:   "wipe",
	Title:  "Disks that were to be erased are erased",
	Probes: []string{WipeRun.Spec.Name},
	Judge:  judgeWipe,
}

func judgeWipe(r *Readings, p *profiles.Profile, s *profiles.Spec) []Finding {
	logs := ReadAll(r, WipeRun, PhaseAfter)
	all := About("wipe", "disks", drivesPart)
	w := r.Machine().Wipe
	switch {
	case w != nil:
	case len(logs) > 0:
		return []Finding{all.Missing(errors.New("disks were erased, and the record does not say which were to be"))}
	case s.Checks["wipe/disks"] == profiles.Required:
		return []Finding{all.Missing(errors.New("no disk was named that is to be erased (wipe: {disks: [SERIAL]})"))}
	default:
		return []Finding{all.NotHere("no disk was to be erased")}
	}
	out := make([]Finding, 0, len(w.Disks))
	for _, serial := range w.Disks {
		out = append(out, judgeWiped(logs, w, serial, wipedPart(r, p, serial)))
	}
	return out
}

// judgeWiped judges one disk. One that takes no erasing is at fault; one that nobody tried,
// or that was refused, is open.
func judgeWiped(logs map[string]Reading[WipeLog], w *Wiping, serial string, part Part) Finding {
	log, ok := logs[serial]
	f := About("wipe", "erased", part, log.Ref)
	if !ok {
		return f.Missing(fmt.Errorf("disk %s was not erased: %w", serial, ErrNotRun))
	}
	if !log.OK() {
		return f.Missing(log.Err)
	}
	m := wipeMethods[log.Value.Method]
	f.Measured = or(m.words, "nothing")
	switch err := log.Value.proven(); {
	case err != nil && log.Value.Failed != "":
		return f.Judged(Fail, "was not erased: "+log.Value.Failed)
	case err != nil:
		return f.Missing(err)
	case w.Level == WipePurge && m.level != WipePurge:
		return f.Missing(fmt.Errorf("%s reaches level %s, and %s was agreed", m.words, m.level, w.Level))
	}
	return f.Judged(Pass, fmt.Sprintf("erased, level %s: %s; %s", m.level, m.words, log.Value.verified()))
}

// wipedPart is the drive of a serial number by its place, where what was measured shows it.
func wipedPart(r *Readings, p *profiles.Profile, serial string) Part {
	parts := nvmeParts(r, p)
	if i := slices.IndexFunc(parts, func(d nvmePart) bool { return d.Serial == serial }); i >= 0 {
		return parts[i].Part
	}
	return Part{Class: ClassNVMe, Name: "disk " + serial, Serial: serial}
}

// Erasure is the certificate of one disk.
type Erasure struct {
	Serial   string     `json:"serial"`
	Model    string     `json:"model,omitempty"`
	Bytes    float64    `json:"bytes,omitempty"`
	Level    WipeLevel  `json:"level,omitempty"` // reached, by IEEE 2883 and NIST SP 800-88; "" = not erased
	Method   string     `json:"method,omitempty"`
	Verified string     `json:"verified,omitempty"`
	Begun    *time.Time `json:"begun,omitempty"` // clock of the host
	Ended    *time.Time `json:"ended,omitempty"`
	Why      string     `json:"why,omitempty"` // it is not erased
	Evidence string     `json:"evidence,omitempty"`
}

// Erasures is what was erased of one machine, on whose word, and what was not.
type Erasures struct {
	Operator string    `json:"operator"`
	Level    WipeLevel `json:"level"` // agreed
	Disks    []Erasure `json:"disks"`
	Not      []string  `json:"not_erased"`
}

// notErased are the places of a server that hold data of its users and are no disk of the
// host: whoever needs a file of what was erased needs to know what was not.
var notErased = []string{
	"disks that are not named here, and boot devices behind a controller of their own (BOSS, NS204i)",
	"SD cards and USB media",
	"storage of a DPU, SmartNIC or accelerator",
	"the TPM, and keys of self-encrypting drives",
	"UEFI variables: boot entries, Secure Boot keys, BIOS settings",
	"the BMC: users, certificates, logs, licences, virtual media",
}

// erasures are the certificates, in the order of the batch; nil where nothing was to be erased.
func erasures(r *Readings) *Erasures {
	w := r.Machine().Wipe
	if w == nil {
		return nil
	}
	out := &Erasures{Operator: w.Operator, Level: w.Level, Not: notErased}
	logs := ReadAll(r, WipeRun, PhaseAfter)
	for _, serial := range w.Disks {
		log, ok := logs[serial]
		d := Erasure{Serial: serial, Evidence: log.Ref}
		switch {
		case !ok:
			d.Why = "it was not run"
		case !log.OK():
			d.Why = log.Err.Error()
		default:
			d.of(log.Value)
		}
		out.Disks = append(out.Disks, d)
	}
	return out
}

func (d *Erasure) of(l WipeLog) {
	d.Model, d.Bytes, d.Begun, d.Ended = l.Model, l.Bytes.V, timeOrNone(l.Begun), timeOrNone(l.Ended)
	d.Method = wipeMethods[l.Method].words
	if err := l.proven(); err != nil {
		d.Why = err.Error()
		return
	}
	d.Level, d.Verified = wipeMethods[l.Method].level, l.verified()
}

func timeOrNone(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
