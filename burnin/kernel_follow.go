package burnin

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// followUnit follows the kernel's log on the node while it is under load, so that a
// machine that dies leaves its last lines with us. Its evidence has that name too.
const followUnit = "kernel-follow"

// followCommand prints the log since boot and what comes; the folder in memory takes no
// more of it than it holds. head would keep back the last 4 KiB, the lines that matter
// when a machine dies; dd writes what it reads.
const followCommand = `{ if dmesg --help 2>&1 | grep -q -e --follow; then dmesg --follow; else cat /dev/kmsg; fi; } 2>/dev/null | dd bs=64k count=33554432 iflag=count_bytes 2>/dev/null`

// fatalWatch looks for a fault in what comes off the node, as it comes.
type fatalWatch struct {
	run     *loadRun
	profile *profiles.Profile
	rules   kernelRules
	since   float64          // of the kernel's clock: what is older was there before the load
	read    map[string]int64 // how far each file was looked through
	told    map[string]bool
	lost    bool // a GPU has fallen off the bus

	fell       []string        // addresses of GPUs that fell off the bus, see takeFell
	complained map[string]bool // units of loads that said a bad word in what was just read
}

func newFatalWatch(r *loadRun) *fatalWatch {
	w := &fatalWatch{run: r, profile: r.node.profile(), read: map[string]int64{}, told: map[string]bool{}}
	w.rules, _ = newKernelRules(w.profile) // without a table nothing is known of such lines
	if e, err := r.Store.evidence(PhaseBefore, KernelLog.Spec.Name); err == nil && e != nil {
		if log, err := parseKernelLog(e); err == nil {
			w.since = log.reaches()
		}
	}
	return w
}

// look gives what is fatal in what was fetched since it was called last, each once.
func (w *fatalWatch) look() []string {
	var found []string
	if lines := w.fresh("units/" + followUnit + "/out"); lines != "" {
		if log, err := parseKernelLog(&Evidence{Probe: KernelLog.Spec.Name, Out: []byte(lines)}); err == nil {
			found = w.kernel(&log)
		}
	}
	w.complained = map[string]bool{}
	for _, l := range w.run.loads {
		for _, s := range w.run.stretchesOf(l) {
			found = append(found, w.complaints(l, s.unit())...)
		}
	}
	return slices.DeleteFunc(found, func(text string) bool {
		known := w.told[text]
		w.told[text] = true
		return known
	})
}

// complaints are the bad words of a load, each once: gpu_burn repeats that a GPU died in
// every report.
func (w *fatalWatch) complaints(l Load, unit string) (found []string) {
	for _, stream := range []string{"out", "err"} {
		said := w.fresh("units/" + unit + "/" + stream)
		for _, word := range l.Bad {
			at := strings.Index(said, word)
			if at < 0 {
				continue
			}
			w.complained[unit] = true
			if key := unit + " " + word; !w.told[key] {
				w.told[key] = true
				found = append(found, fmt.Sprintf("%s says %q", unit, lineAt(said, at)))
			}
		}
	}
	return found
}

// takeFell gives the addresses of GPUs that fell off the bus since it was called last.
func (w *fatalWatch) takeFell() []string {
	fell := w.fell
	w.fell = nil
	return fell
}

// kernel picks what is fatal by the profile's catalogues.
func (w *fatalWatch) kernel(log *KernelLogData) []string {
	var found []string
	for _, e := range log.XIDs {
		if e.Time > w.since && xidVerdict(w.profile, e) == Fail {
			found = append(found, fmt.Sprintf("XID %d of GPU %s", e.Code, e.Address))
		}
	}
	for _, e := range log.SXIDs {
		if e.Time > w.since && e.Fatal {
			found = append(found, fmt.Sprintf("SXid %d of NVSwitch %s", e.Code, e.Address))
		}
	}
	w.fallen(log)
	for _, e := range slices.Concat(log.Memory, log.AER) {
		if e.Time > w.since && (e.Kind == EventFatal || e.Kind == EventUncorrected) {
			found = append(found, strings.TrimSpace(e.Text))
		}
	}
	for _, line := range log.Lines {
		if w.ruled(line) {
			found = append(found, strings.TrimSpace(line.Text))
		}
	}
	return found
}

// fallen notes the GPUs that fell off the bus.
func (w *fatalWatch) fallen(log *KernelLogData) {
	w.lost = w.lost || len(log.FellOff) > 0
	if !slices.ContainsFunc(log.Lines, func(l KernelLine) bool { return l.Time > w.since && strings.Contains(l.Text, "fallen off the bus") }) {
		return
	}
	for _, address := range log.FellOff {
		w.fell = append(w.fell, normalAddress(address))
	}
}

// ruled reports whether a line that no parser has read is fatal by the catalogue.
func (w *fatalWatch) ruled(line KernelLine) bool {
	if line.Time <= w.since || line.Check != "" {
		return false
	}
	name, _, ok := w.rules.of(line.Text)
	return ok && kernelVerdict(w.profile.Kernel[name], true) == Fail
}

// fresh gives the whole lines of a file that were not looked through yet.
func (w *fatalWatch) fresh(file string) string {
	from := w.read[file]
	if w.run.stream.size[file] <= from {
		return ""
	}
	f, err := os.Open(w.run.stream.path(file))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.NewSectionReader(f, from, w.run.stream.size[file]-from))
	if err != nil {
		return ""
	}
	whole := strings.LastIndexAny(string(raw), "\r\n") + 1
	w.read[file] = from + int64(whole)
	return string(raw[:whole])
}

// finishFollow keeps the log as it came off the node. It has no end mark: it proves what
// happened, and never that nothing did.
func (r *loadRun) finishFollow() error {
	out, err := r.stream.read("units/" + followUnit + "/out")
	if err != nil || len(out) == 0 {
		return err
	}
	return r.Store.Add(&Evidence{
		Probe: followUnit, Phase: PhaseLoad, Command: followCommand, Source: r.node.Origin, Started: r.began,
		BootID: r.boot, Seconds: time.Since(r.began).Seconds(), Ended: EndedSignal, Out: out,
	})
}

// asKernelLog is the log that was followed, as what the kernel had said when its boot went
// down.
func (e *Evidence) asKernelLog() *Evidence {
	log := *e
	log.Probe, log.Phase, log.Ended = KernelLog.Spec.Name, PhaseAfter, EndedUnknown
	log.Started = e.Started.Add(time.Duration(e.Seconds * float64(time.Second)))
	return &log
}
