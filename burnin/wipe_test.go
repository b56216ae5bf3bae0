package burnin

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// fakeNVMe stands in for nvme-cli over drives that are files: $T holds what a controller
// shows (id-ctrl), its sanitize log (log), a log of what was done (acts), and how it lies
// (mood). A sanitize operation is under way for two looks at its log.
const fakeNVMe = `#!/bin/sh
f=$T/dev/nvme0n1
log() { printf "\\$(printf %o $(($1 % 256)))\\$(printf %o $(($1 / 256)))\\$(printf %o $(($2 % 256)))\\$(printf %o $(($2 / 256)))" >"$T/log"; head -c 508 /dev/zero >>"$T/log"; }
mood=$(cat "$T/mood" 2>/dev/null)
case $1 in
id-ctrl) cat "$T/id-ctrl" ;;
list-ns) echo '[   0]:0x1'; [ ! -e "$T/hidden" ] || echo '[   1]:0x2' ;;
id-ns) head -c 26 /dev/zero; printf '\001'; head -c 4069 /dev/zero ;;
format)
	echo "$*" >>"$T/acts"
	[ "$mood" = lazy ] || head -c 16777216 /dev/zero | tr '\000' '\377' >"$f"
	[ "$mood" != refuses ] || { echo "NVMe status: Invalid Format" >&2; exit 1; }
	[ "$mood" != old ] || { echo "unrecognized option '--force'" >&2; exit 1; }
	;;
sanitize)
	echo "$*" >>"$T/acts"
	[ "$mood" != refuses ] || { echo "NVMe status: Operation Denied" >&2; exit 1; }
	[ "$mood" != old ] || { echo "unrecognized option '--sanact'" >&2; exit 1; }
	log 20000 2
	echo 2 >"$T/looks"
	;;
sanitize-log)
	[ "$mood" != mute ] || exit 1
	left=$(cat "$T/looks" 2>/dev/null || echo 0)
	if [ "$left" -gt 0 ]; then
		echo $((left - 1)) >"$T/looks"
		if [ "$left" = 1 ]; then
			[ "$mood" = lazy ] || head -c 16777216 /dev/zero >"$f"
			case $mood in
			breaks) log 65535 3 ;;
			written) log 65535 1 ;;
			*) log 65535 257 ;;
			esac
		fi
	fi
	cat "$T/log"
	;;
esac
`

// controller makes what nvme id-ctrl -b prints.
func controller(serial string, oacs uint16, sanicap uint32) []byte {
	b := make([]byte, 4096)
	copy(b[4:24], fmt.Sprintf("%-20s", serial))
	binary.LittleEndian.PutUint16(b[256:], oacs)
	binary.LittleEndian.PutUint32(b[328:], sanicap)
	binary.LittleEndian.PutUint32(b[516:], 1)
	return b
}

const wipeSeed = "0123456789abcdef"

// wipable is a node with a drive that holds data.
func wipable(t *testing.T, oacs uint16, sanicap uint32) *drives {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root is let erase")
	}
	d := newDrives(t)
	d.put(t, "bin/nvme", fakeNVMe)
	if err := os.Chmod(filepath.Join(d.root, "bin/nvme"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.put(t, "id-ctrl", string(controller("SERIAL-A", oacs, sanicap)))
	d.put(t, "log", string(make([]byte, 512)))
	d.put(t, "sys/block/nvme0n1/device/model", "Example  Drive 1")
	d.put(t, "dev/nvme0n1", strings.Repeat("secret of the customer\n", driveSize/23+1)[:driveSize])
	return d
}

// erase runs the command as a node would.
func (d *drives) erase(t *testing.T, level WipeLevel, marked bool) *Evidence {
	t.Helper()
	w := writer{dev: d.root + "/dev", sys: d.root + "/sys", proc: d.root + "/proc", kind: "-f"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", w.wipe("SERIAL-A", level, wipeSeed, marked))
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "LC_ALL=C", "T="+d.root, "PATH="+d.root+"/bin:"+os.Getenv("PATH"))
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	exit := cmd.ProcessState.ExitCode()
	if errs.Len() > 0 {
		t.Errorf("stderr: %s", errs.String())
	}
	return &Evidence{Probe: wipeName, Instance: "SERIAL-A", Phase: PhaseAfter, Out: []byte(out.String()), Source: FromSSH, Ended: EndedExit, Exit: &exit}
}

// wiped judges evidence of a disk that was to be erased.
func wiped(e *Evidence, level WipeLevel) Judgement {
	rec := &Record{Machine: Machine{Wipe: &Wiping{Disks: []string{"SERIAL-A"}, Level: level, Operator: "op@hall"}}}
	if e != nil {
		rec.Evidence = []*Evidence{e}
	}
	j := Judgement{}
	j.add(NewReadings(rec), wipe, &profiles.Profile{}, &profiles.Spec{})
	j.Erasures = erasures(NewReadings(rec))
	return j
}

func (d *drives) acts(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(d.root, "acts"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// A disk is erased by the best that it can and its level allows, and the proof says how.
func TestWipeErases(t *testing.T) {
	for _, c := range []struct {
		name    string
		oacs    uint16
		sanicap uint32
		level   WipeLevel
		acts    string
		reached WipeLevel
		says    string
	}{
		{"block erase before all", 0x17, 0b111, WipePurge, "sanitize DEV --sanact=2", WipePurge, "erased, level purge: NVMe Sanitize, block erase; 64 of 64 marks gone, all zeroes; sanitize status 0x101: completed, nothing written since"},
		{"crypto erase", 0x17, 0b101, WipePurge, "sanitize DEV --sanact=4", WipePurge, "NVMe Sanitize, crypto erase"},
		{"overwrite by the drive", 0x17, 0b100, WipeClear, "sanitize DEV --sanact=3", WipePurge, "NVMe Sanitize, overwrite"},
		{"format", 0x02, 0, WipeClear, "format DEV --ses=1 --lbaf=1 --force --timeout=14400000", WipeClear, "erased, level clear: NVMe Format, user data erase; 64 of 64 marks gone"},
		{"written over", 0, 0, WipeClear, "", WipeClear, "erased, level clear: written over with zeroes; 64 of 64 marks gone, all zeroes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := wipable(t, c.oacs, c.sanicap)
			j := wiped(d.erase(t, c.level, false), c.level)
			if acts := strings.ReplaceAll(d.acts(t), d.root+"/dev/nvme0n1", "DEV"); acts != c.acts {
				t.Errorf("acts %q, want %q", acts, c.acts)
			}
			if len(j.Findings) != 1 || j.Findings[0].Verdict != Pass || !strings.Contains(j.Findings[0].Why, c.says) {
				t.Fatalf("findings %+v, not run %+v", j.Findings, j.NotRun)
			}
			got := j.Erasures.Disks[0]
			if got.Level != c.reached || got.Model != "Example Drive 1" || got.Bytes != driveSize || got.Why != "" || got.Begun == nil || got.Ended == nil || got.Evidence != "after/wipe@SERIAL-A" {
				t.Errorf("certificate %+v", got)
			}
			if b := d.bytes(t, "nvme0n1"); len(b) != driveSize || bytes.Contains(b, []byte("secret")) {
				t.Errorf("%d bytes, which still hold what was there", len(b))
			}
		})
	}
}

// Whatever a disk or a tool does short of erasing is never a pass: at fault where the disk was
// begun, open where it was left as it is.
func TestWipeNotErased(t *testing.T) {
	put := func(file, text string) func(*testing.T, *drives) {
		return func(t *testing.T, d *drives) { t.Helper(); d.put(t, file, text) }
	}
	for _, c := range []struct {
		name    string
		sanicap uint32
		level   WipeLevel
		spoil   func(*testing.T, *drives)
		verdict Verdict // Unknown = it is open
		says    string
		whole   bool // nothing was written
	}{
		{"purge without a sanitize command", 0, WipePurge, nil, Unknown, "has no sanitize command, so level purge cannot be reached", true},
		{"mounted", 2, WipePurge, put("proc/7/mountinfo", "30 1 259:0 / /data rw - xfs /dev/nvme0n1 rw\n"), Unknown, "nvme0n1 is mounted at /data", true},
		{"a partition is mounted", 2, WipePurge, func(t *testing.T, d *drives) {
			t.Helper()
			d.put(t, "sys/block/nvme0n1/nvme0n1p1/dev", "259:9\n")
			d.put(t, "proc/7/mountinfo", "30 1 259:9 / /data rw - xfs /dev/nvme0n1p1 rw\n")
		}, Unknown, "nvme0n1p1 is mounted at /data", true},
		{"held", 2, WipePurge, put("sys/block/nvme0n1/holders/md0", ""), Unknown, "nvme0n1 is held by md0: stop that first", true},
		{"read-only", 2, WipePurge, put("sys/block/nvme0n1/ro", "1\n"), Unknown, "nvme0n1 is read-only", true},
		{"mounts that cannot be read", 2, WipePurge, func(t *testing.T, d *drives) {
			t.Helper()
			if err := os.Remove(filepath.Join(d.root, "proc/1/mountinfo")); err != nil {
				t.Fatal(err)
			}
		}, Unknown, "nvme0n1 is mounted at (not known)", true},
		{"another controller behind the name", 2, WipePurge, func(t *testing.T, d *drives) {
			t.Helper()
			d.put(t, "id-ctrl", string(controller("SERIAL-Z", 2, 2)))
		}, Unknown, "the controller behind nvme0n1 says that its serial number is SERIAL-Z", true},
		{"capabilities cut short", 2, WipePurge, put("id-ctrl", "short"), Unknown, "its capabilities cannot be read", true},
		{"a log that does not answer", 2, WipePurge, put("mood", "mute"), Unknown, "the state of its sanitize operations cannot be read", true},
		{"two of one serial", 2, WipePurge, func(t *testing.T, d *drives) { t.Helper(); d.add(t, "nvme0n2", "259:7", "SERIAL-A") }, Unknown, "it shows as nvme0n1 and as nvme0n2", true},
		{"a drive that refuses", 2, WipePurge, put("mood", "refuses"), Fail, "nvme0n1 refused to be sanitized: NVMe status: Operation Denied", false},
		{"a drive that says done and does nothing", 2, WipePurge, put("mood", "lazy"), Fail, "64 of 64 marks can still be read: nvme0n1 was not erased", false},
		{"a sanitize operation that fails", 2, WipePurge, put("mood", "breaks"), Fail, "nvme0n1 ended its sanitize operation with status 3", false},
		{"written to since", 2, WipePurge, put("mood", "written"), Unknown, "something was written since", false},
		{"a tool that does not know the command", 2, WipePurge, put("mood", "old"), Unknown, "nvme did not get nvme0n1 sanitized: unrecognized option", false},
		{"a tool that does not know the format", 0, WipeClear, put("mood", "old"), Unknown, "nvme did not get nvme0n1 formatted: unrecognized option", false},
		{"a namespace that the host does not see", 0, WipeClear, put("hidden", ""), Unknown, "nvme0n1 has namespaces that the host does not see", true},
		{"a format that does nothing", 0, WipeClear, put("mood", "lazy"), Fail, "64 of 64 marks can still be read", false},
		{"a format that fails behind its work", 0, WipeClear, put("mood", "refuses"), Fail, "nvme0n1 refused to be formatted: NVMe status: Invalid Format", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := wipable(t, 0b1010, c.sanicap)
			if c.spoil != nil {
				c.spoil(t, d)
			}
			before := d.bytes(t, "nvme0n1")
			j := wiped(d.erase(t, c.level, false), c.level)
			switch {
			case c.verdict == Fail && (len(j.Findings) != 1 || j.Findings[0].Verdict != Fail || !strings.Contains(j.Findings[0].Why, c.says)),
				c.verdict == Unknown && (len(j.Findings) != 0 || len(j.NotRun) != 1 || j.NotRun[0].Scope != profiles.Required || !strings.Contains(j.NotRun[0].Why, c.says)):
				t.Errorf("findings %+v, not run %+v", j.Findings, j.NotRun)
			}
			if got := j.Erasures.Disks[0]; got.Level != "" || got.Verified != "" || !strings.Contains(got.Why, c.says) {
				t.Errorf("certificate %+v", got)
			}
			if same := bytes.Equal(before, d.bytes(t, "nvme0n1")); same != c.whole {
				t.Errorf("the disk is as it was: %t, want %t", same, c.whole)
			}
		})
	}
}

// A sanitize operation outlives whoever began it, and a restart: it is waited for, and where
// the marks of this attempt are on the disk, it is not begun a second time.
func TestWipeTakesUpASanitizeOperation(t *testing.T) {
	underWay := func(t *testing.T, d *drives) {
		t.Helper()
		d.put(t, "log", "\x20\x4e\x02\x00"+string(make([]byte, 508)))
		d.put(t, "looks", "2")
	}
	done := func(t *testing.T, d *drives) {
		t.Helper()
		d.put(t, "log", "\xff\xff\x01\x01"+string(make([]byte, 508)))
		d.put(t, "dev/nvme0n1", string(make([]byte, driveSize)))
	}
	for _, c := range []struct {
		name   string
		before func(*testing.T, *drives)
		marked bool
		acts   int
	}{
		{"ours, under way", underWay, true, 0},
		{"ours, done", done, true, 0},
		{"somebody's, under way", underWay, false, 1},
		{"somebody's, done", done, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := wipable(t, 2, 2)
			c.before(t, d)
			j := wiped(d.erase(t, WipePurge, c.marked), WipePurge)
			if len(j.Findings) != 1 || j.Findings[0].Verdict != Pass {
				t.Errorf("findings %+v, not run %+v", j.Findings, j.NotRun)
			}
			if acts := d.acts(t); strings.Count(acts, "sanitize") != c.acts {
				t.Errorf("acts %q, want %d", acts, c.acts)
			}
		})
	}
}

// No loss and no change of what was printed makes an erasure out of none.
func TestWipeSpoiled(t *testing.T) {
	d := wipable(t, 2, 2)
	e := d.erase(t, WipePurge, false)
	if j := wiped(e, WipePurge); len(j.Findings) != 1 || j.Findings[0].Verdict != Pass {
		t.Fatalf("a good one: %+v", j)
	}
	passes := func(out []byte) bool {
		spoiled := *e
		spoiled.Out = out
		j := wiped(&spoiled, WipePurge)
		return len(j.Findings) == 1 && j.Findings[0].Verdict == Pass
	}
	for n := range bytes.TrimRight(e.Out, "\n") { // cut anywhere before its last line has ended
		if passes(e.Out[:n]) {
			t.Errorf("passes when cut behind %q", e.Out[:n])
		}
	}
	for _, c := range [][2]string{
		{"left=0", "left=1"},
		{"planted 64", "planted 63"},
		{"#wipe planted", "#wipe painted"},
		{"looked 64", "looked 0"},
		{"looked 64 ", "looked N/A "},
		{"#wipe looked", "#wipe seen"},
		{"status 257", "status 1"},
		{"status 257", "status 259"},
		{"status 257", "status 256"},
		{"status 257", "status 0x101"},
		{"#wipe status", "#wipe state"},
		{"method sanitize-block", "method format"},
		{"method sanitize-block", "method magic"},
		{"#wipe done", "#wipe failed it\n#wipe done"},
		{"#wipe begun", "#wipe refused it\n#wipe begun"},
	} {
		if out := bytes.ReplaceAll(e.Out, []byte(c[0]), []byte(c[1])); bytes.Equal(out, e.Out) || passes(out) {
			t.Errorf("passes with %q for %q, or it is not there", c[1], c[0])
		}
	}
	one, killed := 1, *e
	killed.Exit = &one
	if j := wiped(&killed, WipePurge); len(j.Findings) != 0 {
		t.Errorf("one that ended with 1: %+v", j.Findings)
	}
	killed.Exit, killed.Ended = nil, EndedSignal
	if j := wiped(&killed, WipePurge); len(j.Findings) != 0 {
		t.Errorf("one that was ended: %+v", j.Findings)
	}
	if j := wiped(nil, WipePurge); len(j.Findings) != 0 || len(j.NotRun) != 1 || j.Erasures.Disks[0].Why != "it was not run" {
		t.Errorf("one that was not run: %+v", j)
	}
}

func FuzzWipe(f *testing.F) {
	f.Add([]byte("#wipe disk nvme0n1 16777216 Example\n#wipe planted 64 2026-11-30T10:00:00Z\n#wipe method sanitize-block\n#wipe begun 2026-11-30T10:00:01Z\n#wipe progress 30\n#wipe status 257\n#wipe looked 64 left=0 zero=64\n#wipe done 2026-11-30T10:00:09Z\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		exit := 0
		l, err := parseWipe(&Evidence{Probe: wipeName, Out: out, Ended: EndedExit, Exit: &exit})
		if err == nil && l.proven() == nil && (l.Looked == 0 || l.Left != 0 || !bytes.Contains(out, []byte("#wipe done")) || l.Method == "") {
			t.Errorf("proven by %q", out)
		}
	})
}
