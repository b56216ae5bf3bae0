package burnin

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// KernelLog is the kernel's own log since boot. Its parser reads dmesg (with
// seconds, with -T, -x and --time-format=iso), /dev/kmsg, journalctl -k and the
// files of syslog.
var KernelLog = Probe[KernelLogData]{
	Spec: ProbeSpec{
		Name: "kernel-log",
		// The ring buffer forgets its beginning; then the journal may still have it.
		Command: always(`if dmesg 2>/dev/null | head -n 20 | grep -q 'Linux version'; then dmesg
elif journalctl -k -b 0 -q --no-pager -o short-monotonic 2>/dev/null | head -n 20 | grep -q 'Linux version'; then journalctl -k -b 0 -q --no-pager -o short-monotonic
else dmesg; fi`),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Deadline: time.Minute,
		Root:     true,
	},
	Parse: parseKernelLog,
}

// KernelLogData are the lines of the log and the hardware events among them.
type KernelLogData struct {
	// Complete: the log reaches from boot to our end mark, so that what is not in it
	// did not happen since boot. A log that was cut or whose beginning the ring buffer
	// has forgotten proves events, and never their absence.
	Complete bool
	Lines    []KernelLine

	XIDs    []XIDEvent // of GPUs
	SXIDs   []XIDEvent // of NVSwitches
	FellOff []string   // addresses of GPUs that fell off the bus; "" where the log gives none
	Memory  []KernelEvent
	AER     []KernelEvent

	ended bool // our end mark stands behind it
}

// KernelLine is one message. Time is in seconds since boot, 0 where the log only
// has a wall clock; Stamp is the time as printed.
type KernelLine struct {
	Time  float64
	Stamp string
	Text  string
	Check string // the check that judges it as an event of its own; "" = none
}

// XIDEvent is an error report of NVIDIA's driver.
type XIDEvent struct {
	Address string // 0000:61:00.0
	Code    int
	Text    string
	Time    float64
	Fatal   bool // SXid only: the driver calls it fatal
	Mild    bool // SXid only: the driver calls it not fatal
}

// KernelEvent is one hardware event.
type KernelEvent struct {
	Kind    EventKind
	Address string // PCI address where the line has one
	Part    string // label of the DIMM, name of the drive; "" where the line has none
	Count   int    // errors that the line reports, at least 1
	Text    string
	Time    float64
	Stamp   string // the time as printed
	Own     bool   // of the processor, not of a module
}

// EventKind says how bad an event is.
type EventKind string

// Kinds of event.
const (
	EventCorrected   EventKind = "corrected"
	EventUncorrected EventKind = "uncorrected"
	EventFatal       EventKind = "fatal"
	EventUnclear     EventKind = "unclear" // an error report that does not say which
)

// kernelStamps are the ways in which a line begins, tried in order. Group 1 is the
// time, group 2 the message.
var kernelStamps = []*regexp.Regexp{
	regexp.MustCompile(`^(?:<\d+>|[a-z0-9]+ *:[a-z]+ *: )?\[ *(\d+\.\d+)\](?:\[[^\]]*\])? (?:\S+ kernel: )?(.*)$`), // dmesg, dmesg -x, journalctl -o short-monotonic
	regexp.MustCompile(`^(?:[a-z0-9]+ *:[a-z]+ *: )?\[((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [^\]]+)\] (.*)$`),           // dmesg -T
	regexp.MustCompile(`^\d+,\d+,(\d+),[^;]*;(.*)$`),                                                               // /dev/kmsg, microseconds
	regexp.MustCompile(`^([A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d(?:\.\d+)?) \S+ kernel(?:\[\d*\])?: (.*)$`),             // journalctl, syslog
	regexp.MustCompile(`^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*) (?:\S+ kernel(?:\[\d*\])?: )?(.*)$`),               // dmesg iso, journalctl -o short-iso
}

// innerStamp is the kernel's own time that syslog keeps behind its stamp.
var innerStamp = regexp.MustCompile(`^\[ *(\d+\.\d+)\] (.*)$`)

func parseKernelLog(e *Evidence) (KernelLogData, error) {
	body, ended := e.Body()
	var d KernelLogData
	stamped := 0
	for line := range strings.Lines(string(body)) {
		l, ok := kernelLine(chomp(line))
		if ok {
			stamped++
		}
		if l.Text != "" {
			d.Lines = append(d.Lines, l)
		}
	}
	if stamped == 0 {
		return KernelLogData{}, kernelLogFailure(string(body) + string(e.Err))
	}
	for i := range d.Lines {
		d.read(i)
	}
	d.ended = ended
	d.Complete = ended && d.fromBoot()
	return d, nil
}

func kernelLogFailure(text string) error {
	if strings.Contains(text, "ermi") { // "Operation not permitted", "permission denied"
		return errors.New("kernel-log: no permission to read the kernel's log; run as root")
	}
	return errors.New("kernel-log: the output holds no line of a kernel log")
}

// kernelLine reads one line; ok is false for one without a time, which may be the
// rest of the message before it.
func kernelLine(line string) (l KernelLine, ok bool) {
	for _, form := range kernelStamps {
		m := form.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		l = KernelLine{Stamp: m[1], Text: m[2]}
		if inner := innerStamp.FindStringSubmatch(l.Text); inner != nil {
			l.Stamp, l.Text = inner[1], inner[2]
		}
		if t, err := strconv.ParseFloat(l.Stamp, 64); err == nil {
			l.Time = t
			if !strings.Contains(l.Stamp, ".") { // kmsg counts microseconds
				l.Time = t / 1e6
			}
		}
		return l, true
	}
	return KernelLine{Text: strings.TrimSpace(line)}, false
}

// reaches is the time of the last message that has one: a later reading of the same
// boot cannot end earlier.
func (d *KernelLogData) reaches() float64 {
	for _, line := range slices.Backward(d.Lines) {
		if line.Time > 0 {
			return line.Time
		}
	}
	return 0
}

// continues reports whether the log, whose beginning the ring buffer may have
// forgotten, still holds the last message of an earlier reading: then both together
// are whole.
func (d *KernelLogData) continues(earlier *KernelLogData) bool {
	if !d.ended || len(earlier.Lines) == 0 {
		return false
	}
	last := earlier.Lines[len(earlier.Lines)-1]
	return slices.ContainsFunc(d.Lines, func(l KernelLine) bool { return l.Stamp == last.Stamp && l.Text == last.Text })
}

// fromBoot reports whether the log begins where the kernel begins.
func (d *KernelLogData) fromBoot() bool {
	for i, l := range d.Lines {
		if strings.HasPrefix(l.Text, "Linux version ") {
			return true
		}
		if i == 20 { // firmware and boot loader may say something first
			break
		}
	}
	return false
}

var (
	xidForm  = regexp.MustCompile(`NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]+)(?: GPU-I:\d+)?\): (\d+)\b,? ?(.*)$`)
	sxidForm = regexp.MustCompile(`SXid \((?:PCI:)?([0-9A-Fa-f:.]+)\): (\d+)\b,? ?(.*)$`)
	// The lines behind an SXid that hold its registers, "12028, Severity 0 Engine instance 32" and "12028, Data {0x…".
	sxidMore     = regexp.MustCompile(`^(?:Severity|Data)\b`)
	nonFatalWord = regexp.MustCompile(`(?i)\bnon-?fatal\b`)
	lostGPUForm  = regexp.MustCompile(`NVRM: .*?GPU (?:at )?(?:PCI:)?([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?)`)
	anyAddress   = regexp.MustCompile(`\b([0-9a-fA-F]{4,5}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\b`)
)

// read looks for events in line i.
func (d *KernelLogData) read(i int) {
	l := d.Lines[i]
	before := d.events()
	if m := xidForm.FindStringSubmatch(l.Text); m != nil {
		d.XIDs = append(d.XIDs, XIDEvent{Address: normalAddress(m[1]), Code: atoi(m[2]), Text: l.Text, Time: l.Time})
	}
	if m := sxidForm.FindStringSubmatch(l.Text); m != nil && !sxidMore.MatchString(m[3]) {
		e := XIDEvent{Address: normalAddress(m[1]), Code: atoi(m[2]), Text: l.Text, Time: l.Time}
		e.Mild = nonFatalWord.MatchString(m[3])
		e.Fatal = !e.Mild && strings.Contains(strings.ToLower(m[3]), "fatal")
		d.SXIDs = append(d.SXIDs, e)
	}
	if strings.Contains(l.Text, "fallen off the bus") {
		d.FellOff = append(d.FellOff, d.lostGPU(i))
	}
	if d.events() > before {
		d.Lines[i].Check = "gpu.xid"
	}
	if d.memoryEvent(i) {
		d.Lines[i].Check = "memory.errors"
	}
	if d.aerEvent(l) {
		d.Lines[i].Check = "pcie.errors"
	}
}

// events is how many reports of GPUs and NVSwitches were found so far.
func (d *KernelLogData) events() int { return len(d.XIDs) + len(d.SXIDs) + len(d.FellOff) }

// lostGPU finds which GPU fell off: the driver names it in the same line, or in one
// of the few before it ("The NVIDIA GPU 0000:b3:00.0 / (PCI ID: …) / installed in
// this system has / fallen off the bus").
func (d *KernelLogData) lostGPU(i int) string {
	for j := i; j >= 0 && j > i-6; j-- {
		for _, form := range []*regexp.Regexp{lostGPUForm, xidForm, anyAddress} {
			if m := form.FindStringSubmatch(d.Lines[j].Text); m != nil {
				return normalAddress(m[1])
			}
		}
	}
	return ""
}
