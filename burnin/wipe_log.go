package burnin

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// WipeRun is what erasing one disk printed; its instance is the disk's serial number.
var WipeRun = Probe[WipeLog]{
	Spec:  ProbeSpec{Name: wipeName, Tool: "nvme"},
	Parse: parseWipe,
}

// WipeLog is how one disk was erased, or why it was not.
type WipeLog struct {
	Device, Model string
	Bytes         Opt[float64]
	Method        string    // see wipeMethods; "" = it did not come to that
	Status        Opt[int]  // SSTAT of the drive's sanitize log, at its end
	Planted       int       // marks that were written, and read back, before
	Marked        bool      // by an earlier process of the attempt, of which the drive shows that it was sanitized since
	Looked        int       // marks that were looked for behind it
	Left, Zero    int       // of these, those that can still be read, and blocks that are zero
	Begun, Ended  time.Time // by the node's clock; zero = not told
	Refused       string    // why the disk was left as it is
	Failed        string    // why it is not erased, though it was begun: the disk did not do it
	Open          string    // why it is not known to be erased, though it was begun
	Done          bool
}

// wipeMethod is a way of erasing: in words, and the level that it reaches.
type wipeMethod struct {
	words    string
	level    WipeLevel
	sanitize bool // the drive's own log must confirm it
}

// wipeMethods are those of wipe.sh. IEEE 2883-2022 counts the sanitize operations of NVMe as
// purge. Format with a secure erase setting leaves open what a drive does with blocks that it
// has set aside, and writing over does not reach them: they count as clear.
var wipeMethods = map[string]wipeMethod{
	"sanitize-block":     {"NVMe Sanitize, block erase", WipePurge, true},
	"sanitize-crypto":    {"NVMe Sanitize, crypto erase", WipePurge, true},
	"sanitize-overwrite": {"NVMe Sanitize, overwrite", WipePurge, true},
	"format":             {"NVMe Format, user data erase", WipeClear, false},
	"overwrite":          {"written over with zeroes", WipeClear, false},
}

var (
	wipeLine    = regexp.MustCompile(`(?m)^#wipe ([a-z]+)(?: (.*))?$`)
	wipePlanted = regexp.MustCompile(`(?m)^#wipe planted \d+ .*\n`)
	wipeLooked  = regexp.MustCompile(`^(\d+) left=(\d+) zero=(\d+)$`)
	wipeDisk    = regexp.MustCompile(`^(\S+) (\d+) ?(.*)$`)
)

// parseWipe reads what wipe.sh printed. A later line counts more than an earlier one: what a
// first look did not prove was done anew.
func parseWipe(e *Evidence) (WipeLog, error) {
	var l WipeLog
	found := false
	for _, m := range wipeLine.FindAllSubmatch(wholeLines(bytes.ReplaceAll(e.Out, []byte("\r\n"), []byte("\n"))), -1) {
		found = true
		if err := l.read(string(m[1]), strings.TrimSpace(string(m[2]))); err != nil {
			return WipeLog{}, fmt.Errorf("wipe: %q: %w", m[0], err)
		}
	}
	if !found {
		return WipeLog{}, errors.New("wipe: it printed nothing of what it did")
	}
	l.Done = l.Done && e.Ended == EndedExit && e.Exit != nil && *e.Exit == 0
	return l, nil
}

// wholeLines leaves out a last line that was cut.
func wholeLines(b []byte) []byte { return b[:bytes.LastIndexByte(b, '\n')+1] }

func (l *WipeLog) read(key, text string) (err error) {
	switch key {
	case "disk":
		m := wipeDisk.FindStringSubmatch(text)
		if m == nil {
			return errors.New("want a device, its bytes and its model")
		}
		l.Device, l.Model, l.Bytes = m[1], m[3], looseNumber(m[2])
	case "planted":
		count, at, _ := strings.Cut(text, " ")
		if l.Planted, err = strconv.Atoi(count); err == nil {
			_, err = time.Parse(time.RFC3339, at)
		}
	case "method":
		if _, ok := wipeMethods[text]; !ok {
			return errors.New("that is no way of erasing that this version knows")
		}
		l.Method = text
	case "status":
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		l.Status = Opt[int]{V: n, Set: true}
	case "looked":
		m := wipeLooked.FindStringSubmatch(text)
		if m == nil {
			return errors.New("want how many marks were looked for, and how many are left")
		}
		l.Looked, _ = strconv.Atoi(m[1])
		l.Left, _ = strconv.Atoi(m[2])
		l.Zero, _ = strconv.Atoi(m[3])
	case "begun":
		l.Begun, err = time.Parse(time.RFC3339, text)
	case "done":
		l.Done = true
		l.Ended, err = time.Parse(time.RFC3339, text)
	case "marked":
		l.Marked = true
	default:
		l.ended(key, text)
	}
	return err
}

// ended takes the words by which it says why a disk is not erased.
func (l *WipeLog) ended(key, text string) {
	switch key {
	case "refused":
		l.Refused = text
	case "failed":
		l.Failed = text
	case "open":
		l.Open = text
	}
}

// Bits of SSTAT, the sanitize status of the NVMe base specification.
const (
	sanitizeState     = 0b111
	sanitizeUntouched = 1 << 8 // global data erased: nothing was written since
)

// proven is nil where the disk was erased, else what is missing to the proof.
func (l *WipeLog) proven() error {
	switch {
	case l.Refused != "":
		return fmt.Errorf("it was left as it is: %s", l.Refused)
	case l.Failed != "":
		return errors.New(l.Failed)
	case l.Open != "":
		return fmt.Errorf("it was begun, and is not known to be erased: %s", l.Open)
	case !l.Done || l.Method == "":
		return errors.New("erasing it did not come to its end")
	case l.Looked == 0 || l.Left > 0:
		return fmt.Errorf("of %d marks that were looked for %d can still be read", l.Looked, l.Left)
	}
	return l.confirmed(wipeMethods[l.Method])
}

// confirmed holds a disk whose marks are gone to what its way of erasing must show beside.
func (l *WipeLog) confirmed(m wipeMethod) error {
	switch {
	case l.Planted != l.Looked && (!l.Marked || !m.sanitize):
		return fmt.Errorf("%d marks were looked for, and %d had been written: what is gone was not there", l.Looked, l.Planted)
	case l.Method == "overwrite" && l.Zero != l.Looked:
		return fmt.Errorf("%d of %d places show the zeroes that were written", l.Zero, l.Looked)
	case m.sanitize && !l.Status.Set:
		return errors.New("the drive did not tell how its sanitize operation ended")
	case m.sanitize && !sanitized(l.Status.V):
		return fmt.Errorf("the drive says with status %#x that its last sanitize operation did not succeed, or that something was written since", l.Status.V)
	}
	return nil
}

func sanitized(status int) bool {
	state := status & sanitizeState
	return (state == 1 || state == 4) && status&sanitizeUntouched != 0
}

// verified says by what it is known that the disk was erased.
func (l *WipeLog) verified() string {
	text := fmt.Sprintf("%d of %d marks gone", l.Looked-l.Left, l.Looked)
	if l.Zero == l.Looked {
		text += ", all zeroes"
	}
	if l.Status.Set {
		text += fmt.Sprintf("; sanitize status %#x: completed, nothing written since", l.Status.V)
	}
	return text
}

// wipeShare is how far a disk is, in percent.
func wipeShare(out []byte) (share int) {
	for _, m := range wipeLine.FindAllSubmatch(wholeLines(out), -1) {
		if string(m[1]) == "progress" {
			share, _ = strconv.Atoi(string(m[2]))
		}
	}
	return share
}
