package nodetest

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// folder is rackproof's folder on the node, /run/rackproof/KEY: what burnin's
// nodeside.sh keeps there, in memory. It is gone after a reboot.
type folder struct {
	root, key, owner, run, attempt string
	since, beat                    time.Time
	deadMan                        time.Duration
	until                          time.Time // zero until the first unit starts
	ended                          string    // why the units were ended
	units                          map[string]*unit
}

func (f *folder) dir() string { return f.root + "/" + f.key }

// expire does what the node's watcher would have done by now: it ends the units
// when nobody has asked for too long, or when their time is over.
func (f *folder) expire(now time.Time) {
	if f.ended != "" {
		return
	}
	silent := f.beat.Add(f.deadMan + time.Second)
	over := f.until.Add(time.Second)
	switch {
	case now.After(silent) && f.loading(silent):
		f.end("dead-man", silent)
	case now.After(silent):
		f.end("done", silent)
	case !f.until.IsZero() && now.After(over):
		f.end("over", over)
	}
}

// loading reports whether a load had not come to its own end at that time.
func (f *folder) loading(at time.Time) bool {
	for _, u := range f.units {
		if u.kind == "load" && at.Before(u.end()) {
			return true
		}
	}
	return false
}

// id names this folder among all there ever were.
func (f *folder) id() string { return fmt.Sprintf("%s-%d", f.key, f.since.UnixNano()) }

func (f *folder) end(why string, at time.Time) {
	if f.ended == "" {
		f.ended = why
	}
	for _, u := range f.units {
		if u.stopped.IsZero() && at.Before(u.end()) {
			u.stopped = at
		}
	}
}

// lock prints the lock file.
func (f *folder) lock(host string) string {
	return fmt.Sprintf("key %s\nowner %s\nrun %s\nattempt %s\nhost %s\nsince %s\nid %s\n",
		f.key, f.owner, f.run, f.attempt, host, f.since.UTC().Format("2006-01-02T15:04:05Z"), f.id())
}

// busy reports whether a unit still runs.
func (f *folder) busy(now time.Time) bool {
	for _, u := range f.units {
		if now.Before(u.end()) {
			return true
		}
	}
	return false
}

// side answers a verb of nodeside.sh.
func (h *host) side(verb string, args []string, stdin io.Reader) reply {
	input := ""
	if slices.Contains([]string{"acquire", "release", "halt", "start"}, verb) {
		b, _ := io.ReadAll(stdin)
		input = string(b)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if h.folder != nil {
		h.folder.expire(now)
	}
	switch verb {
	case "acquire":
		return h.acquire(args, now)
	case "release":
		return h.release(args, now)
	case "halt":
		return h.halt(args, now)
	}
	return h.inFolder(verb, args, input, now)
}

// halt answers halt ROOT RUN: it ends the loads of a run, whichever its attempt.
func (h *host) halt(args []string, now time.Time) reply {
	if h.folder == nil || len(args) < 2 || h.folder.run != args[1] {
		return reply{out: "free\n"}
	}
	h.folder.end("stop", now)
	return reply{out: "end\n"}
}

// inFolder answers the verbs that need a folder; its name is their first argument.
func (h *host) inFolder(verb string, args []string, input string, now time.Time) reply {
	if h.folder == nil || len(args) == 0 || args[0] != h.folder.dir() {
		return reply{out: "nofolder\n"}
	}
	switch verb {
	case "start":
		return h.start(args[1:], input, now)
	case "poll":
		return h.poll(args[1:], now)
	case "stop":
		if len(args) < 2 {
			return reply{err: "stop: why?\n", exit: 2}
		}
		h.folder.end(args[1], now)
		return reply{out: "end\n"}
	}
	return reply{err: "rackproof: " + verb + ": not found\n", exit: 127}
}

func (h *host) acquire(args []string, now time.Time) reply {
	if len(args) < 6 {
		return reply{err: "acquire: too few arguments\n", exit: 2}
	}
	root := args[0]
	if root == "" {
		root = "/run/rackproof"
	}
	patience, _ := strconv.Atoi(args[5])
	fresh := &folder{
		root: root, key: args[1], owner: args[2], run: args[3], attempt: args[4],
		since: now, beat: now, deadMan: time.Duration(patience) * time.Second, units: map[string]*unit{},
	}
	old := h.folder
	switch {
	case old != nil && old.run != fresh.run:
		return reply{out: "held\n" + h.holder(old, now)}
	case old != nil && old.key == fresh.key:
		old.beat, old.deadMan = now, fresh.deadMan
		out := "dir " + old.dir() + "\nstate same\nid " + old.id() + "\n"
		if old.ended != "" {
			out += "ended " + old.ended + "\n"
		}
		return reply{out: out + "end\n"}
	case old != nil:
		old.end("stop", now) // an earlier attempt of the same run
	}
	h.folder = fresh
	return reply{out: "dir " + fresh.dir() + "\nstate new\nid " + fresh.id() + "\nend\n"}
}

func (h *host) holder(f *folder, now time.Time) string {
	out := f.lock(h.base.hostname()) + "silent " + itoa(int(now.Sub(f.beat).Seconds())) + "\npatience " + itoa(int(f.deadMan.Seconds())) + "\n"
	if f.busy(now) {
		out += "busy yes\n"
	}
	return out
}

func (h *host) release(args []string, now time.Time) reply {
	f := h.folder
	if f == nil || len(args) < 2 {
		return reply{out: "free\n"}
	}
	if f.run != args[1] && now.Sub(f.beat) <= f.deadMan {
		return reply{out: "held\n" + h.holder(f, now)}
	}
	out := h.holder(f, now)
	f.end("stop", now)
	h.folder = nil
	return reply{out: out + "end\n"}
}

// start answers start NAME KIND SECONDS LENGTH with the command on stdin.
func (h *host) start(args []string, command string, now time.Time) reply {
	if len(args) < 4 {
		return reply{err: "start: too few arguments\n", exit: 2}
	}
	if args[3] != itoa(len(command)) { // the client went away while it sent
		return reply{out: "short\n"}
	}
	f := h.folder
	if f.units[args[0]] != nil {
		return reply{out: "exists\n"}
	}
	seconds, _ := strconv.Atoi(args[2])
	longest := time.Duration(seconds) * time.Second
	f.until = now.Add(longest)
	u := h.newUnit(args[0], args[1], command, longest, now)
	f.units[args[0]] = u
	h.units = append(h.units, u)
	if u.kind == "load" && h.count != nil {
		h.count("load." + u.name)
	}
	return reply{out: "started\n"}
}

// poll answers poll MOST [FILE OFFSET]….
func (h *host) poll(args []string, now time.Time) reply {
	f := h.folder
	f.beat = now
	room := 0
	if len(args) > 0 {
		room, _ = strconv.Atoi(args[0])
	}
	offsets := map[string]int{}
	for i := 1; i+1 < len(args); i += 2 {
		offsets[args[i]], _ = strconv.Atoi(args[i+1])
	}
	var b strings.Builder
	if f.ended != "" {
		b.WriteString("ended " + f.ended + "\n")
	}
	units := byName(f.units)
	for _, u := range units {
		b.WriteString(u.state(now) + "\n")
	}
	piece := func(file, content string) {
		from := min(offsets[file], len(content))
		n := min(len(content)-from, room)
		if n > 0 {
			room -= n
			fmt.Fprintf(&b, "file %s %d %d\n%s\n", file, from, n, content[from:from+n])
		}
	}
	s := h.snapshot(now)
	for _, u := range units {
		piece("units/"+u.name+"/out", u.output(s, now))
	}
	for _, u := range units {
		h.sample(u, now)
		piece("samples/"+u.name, string(u.samples))
	}
	return reply{out: b.String() + "end\n"}
}
