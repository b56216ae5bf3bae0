package burnin

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

//go:embed wipe.sh
var wipeScript string

const wipeName = "wipe"

// WipeLevel is how well a disk is erased, in the words that IEEE 2883 and NIST SP 800-88 share.
type WipeLevel string

// Levels. Clear holds against what a host can read through the disk's interface, purge also
// against a laboratory: for that the disk must have a sanitize command.
const (
	WipeClear WipeLevel = "clear"
	WipePurge WipeLevel = "purge"
)

// Wiping is what is to be erased on one machine.
type Wiping struct {
	Disks    []string  `json:"disks"` // serial numbers
	Level    WipeLevel `json:"level"`
	Operator string    `json:"operator,omitempty"` // person@host
}

// WipeOptions says what to erase on a node, on whose word, and where the proof goes.
type WipeOptions struct {
	Wiping
	Node    *Node
	Store   *Store
	Run     string
	Machine string
	Attempt int
	DeadMan time.Duration // see Claim
	Root    string        // folder on the node, "" = the usual one

	// Marked are the disks that bear the marks of an earlier process of this attempt: an
	// erasure that is found done is theirs. Mark makes durable that another one does.
	Marked []string
	Mark   func(ctx context.Context, serial string) error
}

// wipeLongest is the time of one disk: a big one that has to be written over.
const wipeLongest = 4 * 24 * time.Hour

// DiskSerial are the serial numbers by which a disk can be named to be erased.
var DiskSerial = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:+-]{0,63}$`)

// Wipe erases disks side by side and stores of each what was done (after/wipe@SERIAL). It
// judges nothing: a disk that was not erased is evidence and no error. What is stored as
// erased is not touched again, and what runs on the node is picked up.
func Wipe(ctx context.Context, o WipeOptions) error {
	w := &wiping{WipeOptions: o, files: map[string][]byte{}}
	left, err := NotWiped(o.Store, o.Wiping)
	if err != nil {
		return err
	}
	for _, d := range left {
		if !DiskSerial.MatchString(d.Serial) {
			return fmt.Errorf("disk %q: that is no serial number", d.Serial)
		}
		w.open = append(w.open, d.Serial)
	}
	if len(w.open) == 0 {
		return nil
	}
	if w.facts, err = o.Node.Facts(ctx, "nvme"); err != nil {
		return err
	}
	if w.folder, err = w.take(ctx); err != nil {
		return err
	}
	err = w.run(ctx)
	if errors.Is(context.Cause(ctx), ErrDetach) {
		return cmp.Or(err, ErrDetach)
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	_, rerr := ReleaseNode(clean, o.Node.Shell, o.Root, o.Run)
	return errors.Join(err, rerr)
}

// wiping is one call of Wipe.
type wiping struct {
	WipeOptions
	facts  *Facts
	folder *nodeFolder
	open   []string // disks that are not stored as erased
	files  map[string][]byte
	began  time.Time
}

// NotErased is a disk that is not erased, and why.
type NotErased struct {
	Serial, Why string
	Failed      bool // it was begun, and the disk did not do it
}

// NotWiped are the disks of w of which nothing in s proves that they are erased.
func NotWiped(s *Store, w Wiping) ([]NotErased, error) {
	var out []NotErased
	for _, serial := range w.Disks {
		e, err := s.evidence(PhaseAfter, wipeName+"@"+serial)
		if err != nil {
			return nil, err
		}
		if d := notWiped(e); d != nil {
			d.Serial = serial
			out = append(out, *d)
		}
	}
	return out, nil
}

func notWiped(e *Evidence) *NotErased {
	if e == nil {
		return &NotErased{Why: "it was not begun"}
	}
	log, err := parseWipe(e)
	if err == nil {
		err = log.proven()
	}
	if err == nil {
		return nil
	}
	return &NotErased{Why: err.Error(), Failed: log.Failed != ""}
}

// take takes the node. What an earlier process had running and was ended since begins anew.
func (w *wiping) take(ctx context.Context) (*nodeFolder, error) {
	claim := Claim{Run: w.Run, Attempt: w.Attempt, Owner: w.Operator, DeadMan: w.DeadMan, Root: w.Root}
	folder, err := acquire(ctx, w.Node.Shell, claim)
	if err != nil || folder.ended == "" || folder.ended == endedDone { // what came to its own end is not done again
		return folder, err
	}
	if _, err := ReleaseNode(ctx, w.Node.Shell, w.Root, w.Run); err != nil {
		return nil, err
	}
	return acquire(ctx, w.Node.Shell, claim)
}

func wipeUnit(serial string) string { return wipeName + "-" + serial }

// run starts what does not run yet, and waits for all of it.
func (w *wiping) run(ctx context.Context) error {
	w.began = time.Now()
	for _, serial := range w.open {
		command := nodeWriter().wipe(serial, w.Level, w.seed(serial), slices.Contains(w.Marked, serial))
		if err := w.folder.start(ctx, wipeUnit(serial), "load", command, wipeLongest); err != nil {
			return err
		}
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		report, err := pollInto(ctx, w.folder, w.files)
		if errors.Is(err, errNoFolder) { // restarted: what the disks have come to is asked of them
			return errors.Join(fmt.Errorf("the host was restarted, or its folder removed, while %s were erased", plural(len(w.open), "disk")), err)
		}
		if err != nil {
			return err
		}
		if err := w.take1(ctx, report); err != nil {
			return err
		}
		if len(w.open) == 0 {
			return nil
		}
		w.Node.tell(Progress{Phase: PhaseAfter, Doing: w.doing()})
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// take1 learns what a poll has brought: disks that bear their marks, disks that are over.
func (w *wiping) take1(ctx context.Context, report *report) error {
	for _, serial := range slices.Clone(w.open) {
		out := w.out(serial)
		if w.Mark != nil && !slices.Contains(w.Marked, serial) && wipePlanted.Match(out) {
			if err := w.Mark(ctx, serial); err != nil {
				return err
			}
			w.Marked = append(w.Marked, serial)
		}
		u := unitOf(report.units, wipeUnit(serial))
		if !u.over() || len(report.chunks) > 0 {
			continue
		}
		if err := w.Store.Add(w.evidence(serial, u)); err != nil {
			return err
		}
		w.open = slices.DeleteFunc(w.open, func(s string) bool { return s == serial })
	}
	return nil
}

func (w *wiping) out(serial string) []byte { return w.files["units/"+wipeUnit(serial)+"/out"] }

// evidence is what a unit has printed. How it was called stands in it by its own words: the
// script itself is the same for all.
func (w *wiping) evidence(serial string, u unitState) *Evidence {
	e := &Evidence{
		Probe: wipeName, Instance: serial, Phase: PhaseAfter, Source: w.Node.Origin, Started: w.began, Seconds: u.seconds,
		Command: fmt.Sprintf("wipe.sh serial=%s level=%s", serial, w.Level),
		Ended:   EndedSignal, StandIn: w.facts.StandsIn("nvme"), Simulated: w.facts.Simulated(),
		Out: w.out(serial), Err: w.files["units/"+wipeUnit(serial)+"/err"],
	}
	if !u.started.IsZero() {
		e.NodeClock = u.started.UTC().Format(time.RFC3339)
	}
	if u.state == "exit" {
		e.Ended, e.Exit = EndedExit, &u.exit
	}
	return e
}

// doing says how far the disks are, the slowest first.
func (w *wiping) doing() string {
	least, slowest := 101, ""
	for _, serial := range w.open {
		share := wipeShare(w.out(serial))
		if share < least {
			least, slowest = share, serial
		}
	}
	return fmt.Sprintf("erases %s; %s is at %d %%", plural(len(w.open), "disk"), slowest, least)
}

// seed makes marks that no other attempt has written to any disk.
func (w *wiping) seed(serial string) string {
	s := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%s", w.Run, w.Machine, w.Attempt, serial))
	return hex.EncodeToString(s[:16])
}

// wipe is the command that erases one disk.
func (w writer) wipe(serial string, level WipeLevel, seed string, marked bool) string {
	planted, din, dout, pause := "no", "", "", "0.1"
	if marked {
		planted = "yes"
	}
	if w.kind == "-b" { // files have no reading around the cache everywhere
		din, dout, pause = "iflag=direct", "oflag=direct", "2"
	}
	var b strings.Builder
	for _, v := range [][2]string{
		{"serial", serial}, {"level", string(level)}, {"seed", seed}, {"planted", planted}, {"din", din}, {"dout", dout}, {"pause", pause},
	} {
		b.WriteString(v[0] + "=" + shellQuote(v[1]) + "\n")
	}
	return Wrap("(\n" + b.String() + w.vars() + wipeScript + ")") // it ends by exit, and the mark stands behind
}
