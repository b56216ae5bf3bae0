package burnin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// Drop is a GPU that was lost under load. In its boot it is loaded no more, and its hours
// do not count. A drop only takes away from what evidence proves.
type Drop struct {
	BootID  string    `json:"boot_id"`
	At      time.Time `json:"at"` // when we heard of it, by our clock
	Why     string    `json:"why"`
	Address string    `json:"address,omitempty"`
	UUID    string    `json:"uuid,omitempty"`
	Serial  string    `json:"serial,omitempty"`
}

// is reports whether a GPU is the one that was dropped. Address and id are known of both,
// or of one of them none.
func (d *Drop) is(address, uuid string) bool {
	return d.Address != "" && d.Address == address || d.UUID != "" && d.UUID == uuid
}

// stretch is one time that a GPU load was started in a span: first for all GPUs, then, when
// it died of one that was lost, for those that were left.
type stretch struct {
	Load    string
	N       int      // 1 = the first
	GPUs    []string // unique ids of those that it may use; none = all
	Seconds int      // how long it runs; 0 = the whole span
}

const stretchesFile = ".stretches"

// leastStretch is the least time for which a load is begun again: programs take a while to
// begin, and gpu-fryer takes no less.
const leastStretch = fryerShortest

// unit is its name on the node, and instance that of its evidence.
func (s *stretch) unit() string {
	if s.N == 1 {
		return s.Load
	}
	return s.Load + "-" + strconv.Itoa(s.N)
}

func (s *stretch) instance() string {
	if s.N == 1 {
		return ""
	}
	return strconv.Itoa(s.N)
}

// stretchesOf are those of a load, in their order.
func (r *loadRun) stretchesOf(l Load) []stretch {
	out := []stretch{{Load: l.Name, N: 1}}
	for _, s := range r.stretches {
		switch {
		case s.Load != l.Name:
		case s.N == 1:
			out[0] = s
		default:
			out = append(out, s)
		}
	}
	return out
}

// now is the last stretch of a load.
func (r *loadRun) now(l Load) stretch {
	all := r.stretchesOf(l)
	return all[len(all)-1]
}

// keepStretch writes down what is about to be started, for whoever picks the load up.
func (r *loadRun) keepStretch(s stretch) error {
	r.stretches = append(r.stretches, s)
	return r.stream.keep(stretchesFile, r.stretches)
}

// stretches are those that were kept.
func (s *stream) stretches() []stretch {
	raw, err := os.ReadFile(filepath.Join(s.dir, stretchesFile))
	var out []stretch
	if err != nil || json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// visible is the line by which programs of CUDA see some GPUs only, and number them in
// this order (CUDA C++ Programming Guide, environment variables).
const visible = "export CUDA_VISIBLE_DEVICES="

var visibleForm = regexp.MustCompile(`(?m)^` + visible + `(\S+)$`)

// visibleGPUs are the unique ids of the GPUs that a command line lets a program see, in the
// order of the program's numbers; none where it sees all.
func visibleGPUs(command string) []string {
	m := visibleForm.FindStringSubmatch(command)
	if m == nil {
		return nil
	}
	return strings.Split(m[1], ",")
}

// commandOf is what a stretch runs.
func (r *loadRun) commandOf(l Load, s stretch) string {
	d := r.length(l)
	if s.Seconds > 0 {
		d = time.Duration(s.Seconds) * time.Second
	}
	command := l.Command(r.node.profile(), d)
	if len(s.GPUs) > 0 {
		command = visible + strings.Join(s.GPUs, ",") + "\n" + command
	}
	return command
}

// dropped are the GPUs that were lost in this boot.
func (r *loadRun) dropped() []Drop {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.meta.Dropped), func(d Drop) bool { return d.BootID != r.boot })
}

// listed are the GPUs that nvidia-smi listed before the load; nil where it did not answer.
func (r *loadRun) listed() []NvidiaGPU {
	e, err := r.Store.evidence(PhaseBefore, NvidiaSMI.Spec.Name)
	if err != nil || e == nil {
		return nil
	}
	log, err := NvidiaSMI.Parse(e)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(log.GPUs, func(g NvidiaGPU) bool { return g.Lost != "" })
}

// leftGPUs are the unique ids of the GPUs that were not dropped; nil where not all are known.
func (r *loadRun) leftGPUs() []string {
	var out []string
	lost := r.dropped()
	for _, g := range r.listed() {
		uuid := realUUID(g.UUID.V)
		if slices.ContainsFunc(lost, func(d Drop) bool { return d.is(g.Address, uuid) }) {
			continue
		}
		if uuid == "" {
			return nil
		}
		out = append(out, uuid)
	}
	return out
}

// spareLost lets a GPU load that begins in a later span of a boot see only the GPUs that
// were not lost in that boot.
func (r *loadRun) spareLost(l Load) error {
	seen := r.stream.lastSeen()
	if !isGPU(l.Busy[0]) || len(r.dropped()) == 0 || seen != nil && seen.state(l.Name) != "" {
		return nil
	}
	if gpus := r.leftGPUs(); len(gpus) > 0 && r.OnFail != profiles.Continue {
		return r.keepStretch(stretch{Load: l.Name, N: 1, GPUs: gpus})
	}
	return nil
}

// drop writes a GPU down that was lost, once, and says so; "" where that is known, or where
// it was not there before the load either.
func (r *loadRun) drop(address, uuid, why string) string {
	gpus := r.listed()
	i := slices.IndexFunc(gpus, func(g NvidiaGPU) bool { return address != "" && g.Address == address || uuid != "" && g.UUID.V == uuid })
	d := Drop{BootID: r.boot, At: time.Now().UTC().Truncate(time.Millisecond), Why: why, Address: address, UUID: uuid}
	switch {
	case i >= 0:
		d.Address, d.UUID, d.Serial = gpus[i].Address, realUUID(gpus[i].UUID.V), gpus[i].Serial.V
	case len(gpus) > 0 || address == "":
		return ""
	}
	if slices.ContainsFunc(r.dropped(), func(o Drop) bool { return o.is(d.Address, d.UUID) }) {
		return ""
	}
	if err := r.setMeta(func(m *Meta) { m.Dropped = append(m.Dropped, d) }); err != nil {
		r.Log.Error("a dropped GPU was not written down", "err", err)
	}
	return fmt.Sprintf("GPU %s is lost: %s", firstWord(d.Address, d.UUID), why)
}

// dropLost writes down what was lost by what was just fetched: what the kernel says fell
// off the bus, what the load says died, and, where a GPU load ended before its time without
// a word, what nvidia-smi no longer answers for.
func (r *loadRun) dropLost(ctx context.Context, report *report) []string {
	var found []string
	add := func(text string) {
		if text != "" {
			found = append(found, text)
		}
	}
	for _, address := range r.fault.watch.takeFell() {
		add(r.drop(address, "", fmt.Sprintf("it fell off the bus (XID %d)", xidFellOff)))
	}
	for _, l := range r.loads {
		if !isGPU(l.Busy[0]) {
			continue
		}
		s := r.now(l)
		if r.fault.watch.complained[s.unit()] {
			for _, uuid := range r.saidDead(l, s) {
				add(r.drop("", uuid, l.Name+" says that it died"))
			}
		}
		if r.endedEarly(l, report) && len(r.lostIn(s)) == 0 && !r.asked[s.unit()] {
			r.asked[s.unit()] = true
			for _, text := range r.askLost(ctx, l) {
				add(text)
			}
		}
	}
	return found
}

// saidDead are the unique ids of the GPUs of which the load says that they died.
func (r *loadRun) saidDead(l Load, s stretch) []string {
	if l.Name != GPUBurn.Spec.Name {
		return nil
	}
	said, err := r.said(s.unit())
	if err != nil {
		return nil
	}
	log, err := parseGPUBurn(&Evidence{Probe: l.Name, Command: r.commandOf(l, s), Out: []byte(said)})
	if err != nil {
		return nil
	}
	var out []string
	listed := r.listed()
	for i, g := range log.GPUs {
		known := slices.IndexFunc(listed, func(o NvidiaGPU) bool { return o.Index == i })
		if g.UUID == "" && known >= 0 { // it numbers them as nvidia-smi does, see byPCI
			g.UUID = listed[known].UUID.V
		}
		if g.Died && g.UUID != "" {
			out = append(out, g.UUID)
		}
	}
	return out
}

// askLostFor bounds the question: the node must hear of us while it is asked.
const askLostFor = 30 * time.Second

// askLost asks which GPUs answer no more.
func (r *loadRun) askLost(ctx context.Context, l Load) []string {
	out, err := r.node.Shell.Run(ctx, Command{Line: r.asRoot(NvidiaSMI.Spec.Command(r.node.profile())), Deadline: askLostFor})
	if err != nil || out.Ended != EndedExit {
		return nil
	}
	log, err := NvidiaSMI.Parse(&Evidence{Probe: NvidiaSMI.Spec.Name, Out: out.Out, Err: out.Err, Exit: out.Exit, Ended: out.Ended})
	if err != nil {
		return nil
	}
	var found []string
	for _, g := range r.listed() {
		answers := slices.ContainsFunc(log.GPUs, func(o NvidiaGPU) bool { return o.Address == g.Address && o.Lost == "" })
		named := slices.ContainsFunc(log.Messages, func(m NvidiaMessage) bool {
			return m.Kind == NvidiaLost && (m.Address == g.Address || m.Address == "" && m.Index == g.Index)
		})
		if answers || !named && len(log.GPUs) == 0 { // one that lists nothing says nothing of one that it does not name
			continue
		}
		if text := r.drop(g.Address, "", l.Name+" ended before its time, and nvidia-smi has no answer of it"); text != "" {
			found = append(found, text)
		}
	}
	return found
}

// lostIn are the GPUs that were lost of those that a stretch was started for.
func (r *loadRun) lostIn(s stretch) []Drop {
	return slices.DeleteFunc(r.dropped(), func(d Drop) bool {
		return len(s.GPUs) > 0 && !slices.Contains(s.GPUs, d.UUID)
	})
}

// timeLeft is how long a load should still run, by when it was started first.
func (r *loadRun) timeLeft(l Load, report *report) time.Duration {
	u := unitOf(report.units, l.Name)
	if u.started.IsZero() {
		return 0
	}
	return time.Until(u.started.Add(-r.skew).Add(r.length(l)))
}

// endedEarly reports whether a load has ended with time left to go on.
func (r *loadRun) endedEarly(l Load, report *report) bool {
	s := r.now(l)
	return unitOf(report.units, s.unit()).over() && r.timeLeft(l, report) >= leastStretch
}

// carryOn begins the GPU load again on the GPUs that are left, where it has died of one
// that was lost and its evidence is kept: the others are loaded to their end. owed is set
// while that was just done or is still to be done.
func (r *loadRun) carryOn(ctx context.Context, report *report) (owed bool, err error) {
	if r.fault.since.IsZero() || r.OnFail == profiles.StopMachine || r.OnFail == profiles.Continue {
		return false, nil
	}
	for _, l := range r.loads {
		s := r.now(l)
		if !isGPU(l.Busy[0]) || !r.endedEarly(l, report) || len(r.lostIn(s)) == 0 {
			continue
		}
		gpus := r.leftGPUs()
		if len(gpus) == 0 {
			continue
		}
		owed = true
		select {
		case <-r.fault.frozen:
			err = errors.Join(err, r.startOn(ctx, l, stretch{Load: l.Name, N: s.N + 1, GPUs: gpus, Seconds: seconds(r.timeLeft(l, report))}))
		default: // its evidence is still being kept
		}
	}
	return owed, err
}

// startOn starts a load on the GPUs that are left.
func (r *loadRun) startOn(ctx context.Context, l Load, s stretch) error {
	if err := r.keepStretch(s); err != nil {
		return err
	}
	// With every start the node's clock for all units is set anew: it is to end as before.
	if err := r.folder.start(ctx, s.unit(), "load", r.commandOf(l, s), time.Until(r.late)-overtime); err != nil {
		return err
	}
	r.note(fmt.Sprintf("%s goes on without what was lost, on %s for %s", l.Name, plural(len(s.GPUs), "GPU"), span(time.Duration(s.Seconds)*time.Second)))
	return nil
}

// stretches are the evidence of a load that keeps parts busy, of every time that it was
// started.
func (r *Record) stretches(l *Load) []*Evidence {
	var out []*Evidence
	for _, e := range r.Evidence {
		if l.Alone == 0 && e.Phase == PhaseLoad && e.Probe == l.Name && e.Ended != EndedNoTool {
			out = append(out, e)
		}
	}
	return out
}

// withoutLost takes the time under load from GPU loads that lost a GPU in the boot of a
// span: hours count for the whole machine, and it was not loaded whole.
func withoutLost(loads []LoadTime, drops []Drop, span *Span) []LoadTime {
	lost := slices.ContainsFunc(drops, func(d Drop) bool {
		return d.BootID == span.BootID && (span.Ended.IsZero() || !d.At.After(span.Ended))
	})
	for i := range loads {
		if lost && loadedBy(loads[i].Name) == className(ClassSXM) {
			loads[i].Seconds, loads[i].Whole = 0, false
		}
	}
	return loads
}
