package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// nvmeHealth asks whether each drive is sound, not worn, and, where new drives were
// ordered, new. The drive's own verdict is not enough: drives with no spare block
// left have called themselves healthy.
var nvmeHealth = Check{
	Name:   "nvme.health",
	Title:  "Each NVMe drive is sound, and as new as ordered",
	Probes: []string{"smartctl", "nvme-smart", "kernel-log"},
	Judge:  judgeNVMeHealth,
}

// healthAsk is one question to the health log of a drive.
type healthAsk struct {
	quantity string
	unit     profiles.Unit
	of       func(*SMARTLog) Opt[float64]
	limit    func(*profiles.NVMe) *profiles.Limit
	growth   bool   // by change over the run
	onlyNew  bool   // of new parts only
	why      string // what a fault means; %v is what was measured
	words    func(float64) string
}

// healthAsks are the questions, damage first.
var healthAsks = []healthAsk{
	{
		quantity: "critical_warning", unit: profiles.Count, of: func(l *SMARTLog) Opt[float64] { return l.CriticalWarning },
		limit: func(n *profiles.NVMe) *profiles.Limit { return n.CriticalWarning }, why: "the drive warns (%v)", words: warningWords,
	},
	{
		quantity: "spare", unit: profiles.Percent, of: spareMargin,
		limit: func(n *profiles.NVMe) *profiles.Limit { return n.Spare }, why: "spare blocks stand %v %% over the drive's own threshold: it is worn out",
	},
	{
		quantity: "media_errors", unit: profiles.Count, of: func(l *SMARTLog) Opt[float64] { return l.MediaErrors },
		limit: func(n *profiles.NVMe) *profiles.Limit { return n.MediaErrors }, why: "the drive lost data: %v media errors",
	},
	{
		quantity: "temperature", unit: profiles.Celsius, of: func(l *SMARTLog) Opt[float64] { return l.Temperature },
		limit: func(n *profiles.NVMe) *profiles.Limit { return n.Temperature }, why: "the drive is at %v °C",
	},
	{
		quantity: "error_log_entries", unit: profiles.Count, of: func(l *SMARTLog) Opt[float64] { return l.ErrorLog },
		limit: func(n *profiles.NVMe) *profiles.Limit { return n.ErrorLogEntries }, growth: true, why: "%v new entries in the drive's error log",
	},
	{
		quantity: "percent_used", unit: profiles.Percent, of: func(l *SMARTLog) Opt[float64] { return l.PercentUsed },
		limit: func(n *profiles.NVMe) *profiles.Limit { return n.PercentUsed }, onlyNew: true, why: "not as ordered: %v %% of its life is used",
	},
	{
		quantity: "power_on_hours", unit: profiles.Hours, of: func(l *SMARTLog) Opt[float64] { return l.PowerOn },
		limit: func(n *profiles.NVMe) *profiles.Limit { return n.PowerOnHours }, onlyNew: true, why: "not as ordered: it has worked for %v hours",
	},
	{
		quantity: "data_written", unit: profiles.TB, of: func(l *SMARTLog) Opt[float64] { return l.Written },
		limit: func(n *profiles.NVMe) *profiles.Limit { return n.DataWritten }, onlyNew: true, why: "not as ordered: %v TB have been written",
	},
}

// spareMargin is how far the spare blocks are over the drive's own threshold.
func spareMargin(l *SMARTLog) Opt[float64] {
	if !l.Spare.Set || !l.SpareThreshold.Set {
		return Opt[float64]{Text: firstWord(l.Spare.Text, l.SpareThreshold.Text)}
	}
	return Opt[float64]{V: l.Spare.V - l.SpareThreshold.V, Set: true, Text: l.Spare.Text}
}

func judgeNVMeHealth(r *Readings, p *profiles.Profile, s *profiles.Spec) []Finding {
	var out []Finding
	messages := messagesFor(r, p, "nvme.health")
	for _, d := range nvmeParts(r, p) {
		logs := healthLogs(r, d)
		d.noLog = noHealthLog(r)
		for _, ask := range healthAsks {
			f := About("nvme.health", ask.quantity, d.Part, refsOf(logs)...)
			limit := ask.limit(&p.NVMe)
			if ask.onlyNew && s.Condition != "" && !newPart(r, s, d.Serial) {
				limit = nil // recorded: wear is no defect of a part that was not sold as new
			}
			out = append(out, ask.judge(f, d, logs, limit))
		}
		out = append(out, ownVerdict(About("nvme.health", "self_assessment", d.Part, refsOf(logs)...), logs)...)
		out = append(out, driveLogged(messages, d, p)...)
		out = append(out, hotMinutes(d, logs, p.NVMe.HotMinutes)...)
		out = append(out, driveUnderLoad(r, d, p.NVMe.Temperature)...)
	}
	out = append(out, strayDrives(messages, nvmeParts(r, p), p)...)
	if len(out) > 0 {
		return out
	}
	f := About("nvme.health", "critical_warning", drivesPart)
	if p.NVMe.Count.Set() && p.NVMe.Count.Number(profiles.Count) == 0 {
		return []Finding{f.NotHere("the profile has no NVMe drive")}
	}
	return []Finding{f.absent(noDrive(r), p.NVMe.CriticalWarning)}
}

// noDrive is why no drive is known at all.
func noDrive(r *Readings) error {
	for _, c := range driveCounts(r) {
		if c.err == nil {
			return fmt.Errorf("%s shows no drive", c.ref)
		}
	}
	return noHealthLog(r)
}

// noHealthLog is why a drive has no log at all: a tool that is not on the node says so.
func noHealthLog(r *Readings) error {
	for _, probe := range []Probe[SMARTLog]{Smartctl, NVMeSmart} {
		if all := Read(r, probe, PhaseBefore); all.Evidence != nil && all.Err != nil {
			return all.Err
		}
	}
	return fmt.Errorf("smartctl and nvme-smart: %w", ErrNotRun)
}

// healthLogs are the logs of a drive: of smartctl in every phase where it gave any,
// else of nvme-cli.
func healthLogs(r *Readings, d nvmePart) []Reading[SMARTLog] {
	var second []Reading[SMARTLog]
	for _, probe := range []Probe[SMARTLog]{Smartctl, NVMeSmart} {
		logs := driveReadings(r, probe, d.Device)
		if anyAbsent(logs) == nil && len(logs) > 0 && logs[0].Value.known() {
			return logs
		}
		if len(logs) > 0 {
			second = append(logs, second...)
		}
	}
	return second
}

// driveReadings are what a probe said of one drive in each phase, and in place of
// one that must have run behind a load and did not, why it is absent.
func driveReadings(r *Readings, probe Probe[SMARTLog], device string) []Reading[SMARTLog] {
	var out []Reading[SMARTLog]
	for _, phase := range machinePhases {
		found := false
		all := ReadAll(r, probe, phase)
		for _, name := range sortedKeys(all) {
			reading := all[name]
			if device != "" && firstWord(name, reading.Value.Device) == device && !reading.Value.ATA {
				out, found = append(out, reading), true
			}
		}
		if !found && phase == PhaseAfter && r.loaded() && len(out) > 0 {
			out = append(out, Reading[SMARTLog]{Err: fmt.Errorf("%s of %s: %w in phase %s", probe.Spec.Name, device, ErrNotRun, phase)})
		}
	}
	return out
}

// judge answers one question about one drive: the worst of all readings, or the
// growth from the first to the last.
func (a healthAsk) judge(f Finding, d nvmePart, logs []Reading[SMARTLog], limit *profiles.Limit) Finding {
	switch {
	case !d.Shown:
		return f.absent(errDriveNotShown, limit)
	case len(logs) == 0:
		return f.absent(d.noLog, limit)
	}
	if a.growth {
		return a.growthOf(f, logs, limit)
	}
	f = worstOf(logs, f, func(f Finding, l SMARTLog) Finding {
		if l.Implausible != "" {
			return f.absent(errors.New(l.Implausible), limit)
		}
		return f.number(a.of(&l), a.unit, limit)
	})
	if f.Verdict == Fail {
		f = f.Because(a.why, a.said(f.Measured))
		if a.onlyNew {
			f.Class = ClassOrder
		}
	}
	return f
}

// said puts a measured value into words, where it is more than a number.
func (a healthAsk) said(measured any) any {
	if n, ok := measured.(float64); ok && a.words != nil {
		return a.words(n)
	}
	return measured
}

// warningBits are the bits of an NVMe drive's critical warning (NVM Express Base
// Specification, SMART / Health Information log page, byte 0).
var warningBits = []string{
	"spare blocks are below its threshold", "temperature is out of range", "reliability is degraded", "it is read-only now",
	"its power-loss backup failed", "its persistent memory is unreliable",
}

func warningWords(bits float64) string {
	var words []string
	for i, w := range warningBits {
		if int(bits)&(1<<i) != 0 {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return fmt.Sprintf("critical warning %v", bits)
	}
	return strings.Join(words, ", ")
}

func (a healthAsk) growthOf(f Finding, logs []Reading[SMARTLog], limit *profiles.Limit) Finding {
	if err := anyAbsent(logs); err != nil {
		return f.absent(err, limit)
	}
	first, last := &logs[0].Value, &logs[len(logs)-1].Value
	if why := firstWord(first.Implausible, last.Implausible); why != "" {
		return f.absent(errors.New(why), limit)
	}
	f = f.change(a.of(first), a.of(last), len(logs) > 1, limit)
	if f.Verdict == Fail {
		return f.Because(a.why, f.Measured)
	}
	return f
}

// ownVerdict judges what the drive says of itself. Only its bad word counts: a
// drive that calls itself healthy is asked the other questions all the same.
func ownVerdict(f Finding, logs []Reading[SMARTLog]) []Finding {
	for _, reading := range logs {
		l := reading.Value
		switch {
		case !reading.OK():
		case l.Passed.Set && !l.Passed.V, l.ExitBits.V&smartctlFailing != 0:
			f.Measured = "failed"
			return []Finding{f.Judged(Fail, "the drive calls itself failing")}
		}
	}
	for _, reading := range logs {
		if bits := reading.Value.ExitBits.V & smartctlNotes; reading.OK() && bits != 0 {
			f.Measured = bits
			return []Finding{f.Judged(Warn, fmt.Sprintf("smartctl notes something (exit status bits %#x): read its output", bits))}
		}
	}
	return nil
}

// driveLogged are the kernel's words about a drive that did not answer or lost data.
func driveLogged(messages []kernelMessage, d nvmePart, p *profiles.Profile) []Finding {
	for _, m := range messages {
		if verdict := kernelVerdict(p.Kernel[m.Rule], m.During); verdict > Pass && d.named(m) {
			f := About("nvme.health", "kernel_log", d.Part, m.Ref)
			f.Measured = m.Text
			return []Finding{f.Judged(verdict, "the kernel logged: "+m.Text)}
		}
	}
	return nil
}

// named reports whether a message is about the drive.
func (d nvmePart) named(m kernelMessage) bool {
	return d.Device != "" && m.Part == d.Device || d.Address != "" && strings.Contains(m.Text, d.Address)
}

// strayDrives are the kernel's words about drives that nothing else shows.
func strayDrives(messages []kernelMessage, drives []nvmePart, p *profiles.Profile) []Finding {
	var out []Finding
	told := map[string]bool{}
	for _, m := range messages {
		if told[m.Part] || slices.ContainsFunc(drives, func(d nvmePart) bool { return d.named(m) }) {
			continue
		}
		told[m.Part] = true
		out = append(out, driveLogged([]kernelMessage{m}, nvmePart{Part: Part{Class: ClassNVMe, Name: "NVMe " + m.Part}, Device: m.Part}, p)...)
	}
	return out
}
