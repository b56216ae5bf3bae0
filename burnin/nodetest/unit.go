package nodetest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unit is a command that runs on in rackproof's folder on the node: a load, or the
// sampler of one probe. It is never really run: what it has printed by some moment
// is worked out when somebody asks.
type unit struct {
	name, kind, command string
	start, stopped      time.Time // stopped: zero while nobody ended it
	length              time.Duration
	exit                int  // when it ends by itself
	idle                bool // it is a program of CUDA that could not begin

	samples []byte
	next    time.Time // of the next sample
}

// loadLength finds how long a load runs by itself: the last argument of gpu_burn,
// --timeout of stress-ng, --runtime of fio, the sleep of a shell loop, a line that
// says how many seconds there are.
var loadLength = regexp.MustCompile(`(?m)(?:gpu_burn |--timeout |--runtime=|^sleep |^seconds=)(\d+)s?(?: "\$@")?$`)

// sampleEvery is the pace of the sampler: a second, and what the command takes.
const sampleEvery = 1050 * time.Millisecond

func (h *host) newUnit(name, kind, command string, longest time.Duration, now time.Time) *unit {
	u := &unit{name: name, kind: kind, command: command, start: now, length: longest, next: now}
	if m := loadLength.FindStringSubmatch(command); kind == "load" && m != nil {
		n, _ := strconv.Atoi(m[1])
		u.length = time.Duration(n) * time.Second
	}
	if u.measure() != nil {
		u.length = measureLength
	}
	if serial, ok := u.wipes(); ok {
		u.length = wipeLength
		if !slices.ContainsFunc(h.base.M.Drives, func(d Drive) bool { return d.Serial == serial }) {
			u.length, u.exit = 0, 1
		}
		return u
	}
	if pairClient.MatchString(command) {
		u.length = 0
	}
	if (u.gpu() || u.measure() != nil) && h.base.M.noCUDA() {
		u.length, u.exit, u.idle = time.Second, 1, true // no CUDA without a driver that answers
	}
	h.takeDown(u, now)
	return u
}

// takeDown lets a load die with a GPU that it works on, where that GPU is of the kind.
func (h *host) takeDown(u *unit, now time.Time) {
	s := h.snapshot(now)
	for _, g := range s.M.GPUs {
		if !u.gpu() || u.idle || !g.FallsUnderLoad || !g.TakesLoadDown || !u.sees(&g) {
			continue
		}
		left := fallAfter + time.Second - s.Worked
		if s.lost(&g) {
			left = time.Second
		}
		if left < u.length {
			u.length, u.exit = left, 139
		}
	}
}

// visibleDevices are the GPUs that a load may use, by their unique ids.
var visibleDevices = regexp.MustCompile(`(?m)^export CUDA_VISIBLE_DEVICES=(\S+)$`)

// sees reports whether a load works on a GPU.
func (u *unit) sees(g *GPU) bool {
	m := visibleDevices.FindStringSubmatch(u.command)
	return m == nil || slices.Contains(strings.Split(m[1], ","), g.UUID)
}

func (u *unit) gpu() bool { return u.kind == "load" && strings.Contains(u.command, "gpu_burn") }

func (u *unit) drives() bool {
	return u.kind == "load" && strings.Contains(u.command, "/sys/block/nvme")
}

func (u *unit) memory() bool { return u.kind == "load" && strings.Contains(u.command, "stressapptest") }

// end is when u ended or will end.
func (u *unit) end() time.Time {
	over := u.start.Add(u.length)
	if !u.stopped.IsZero() && u.stopped.Before(over) {
		return u.stopped
	}
	return over
}

// worked is how long u ran until t.
func (u *unit) worked(t time.Time) time.Duration {
	if e := u.end(); e.Before(t) {
		t = e
	}
	return max(0, t.Sub(u.start))
}

// state is u's line in the answer to a poll.
func (u *unit) state(now time.Time) string {
	state := "runs"
	switch {
	case now.Before(u.end()):
	case u.kind == "sample":
		state = "gone"
	default:
		exit := u.exit
		if u.end().Before(u.start.Add(u.length)) {
			exit = 143 // ended by SIGTERM
		}
		state = fmt.Sprintf("exit %d %d", exit, int(u.worked(now).Seconds()))
	}
	return fmt.Sprintf("unit %s %s %d %s", u.name, u.kind, u.start.Unix(), state)
}

// output is what u has printed by now.
func (u *unit) output(s *system, now time.Time) string {
	if u.kind == "watch" {
		return s.dmesg()
	}
	if serial, ok := u.wipes(); ok {
		return s.wipe(u, serial, now)
	}
	if u.kind != "load" || now.Before(u.end()) {
		return ""
	}
	if print := u.measure(); print != nil {
		return print(s)
	}
	if out, ok := s.ibWriteBW(u.command); ok {
		return out
	}
	switch {
	case u.gpu() && u.idle:
		return "Couldn't init a GPU test: Error in load module (gpu_burn-drv.cpp): initialization error\n"
	case u.gpu():
		return s.gpuBurn(u)
	case u.drives() && strings.Contains(u.command, "exec fio "):
		return s.fio(u)
	case u.drives():
		return "ended early: 0\n"
	case u.memory():
		return s.stressapptest(u)
	}
	return fmt.Sprintf("stress-ng: info:  [1201] simulated: %d cpu workers for %d s\nstress-ng: info:  [1201] successful run completed in %.2f secs\n",
		s.M.CPU.Sockets*s.M.CPU.Cores*2, int(u.length.Seconds()), u.worked(now).Seconds())
}

// stressapptest is what the load of memory prints.
func (s *system) stressapptest(u *unit) string {
	mib := s.M.RAMGiB() * 1024 * 6 / 10
	return fmt.Sprintf("Log: Commandline - stressapptest -W -M %d (simulated)\nStats: Starting SAT, %dM, %d seconds\n"+
		"Stats: Found 0 hardware incidents\nStats: Completed: %d.00M in %.2fs 61440.00MB/s, with 0 hardware incidents, 0 errors\n"+
		"Stats: Memory Copy: %d.00M at 61440.00MB/s\n\nStatus: PASS - please verify no corrected errors\n",
		mib, mib, int(u.length.Seconds()), mib*9, u.length.Seconds(), mib*9)
}

// sample draws the samples that are due by now.
func (h *host) sample(u *unit, now time.Time) {
	for ; u.kind == "sample" && !u.next.After(now) && u.next.Before(u.end()); u.next = u.next.Add(sampleEvery) {
		command, wrapped := unwrap(u.command)
		r := h.snapshot(u.next).command(command)
		if r.hang {
			u.next = u.end()
			return
		}
		if wrapped {
			r.out += endLine(r.exit)
		}
		u.samples = append(u.samples, fmt.Appendf(nil, "%s %d\n%s\n", u.next.UTC().Format("2006-01-02T15:04:05.000Z"), len(r.out), r.out)...)
	}
}

// byName orders units as a shell's pattern does.
func byName(units map[string]*unit) []*unit {
	list := make([]*unit, 0, len(units))
	for _, u := range units {
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b *unit) int { return strings.Compare(a.name, b.name) })
	return list
}
