package burnin

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// drives is a node of two NVMe drives that are files of 16 MiB.
type drives struct{ root string }

const driveSize = 16 << 20

func newDrives(t *testing.T) *drives {
	t.Helper()
	d := &drives{root: t.TempDir()}
	for _, dir := range []string{"dev", "proc/1/fd"} {
		if err := os.MkdirAll(filepath.Join(d.root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.put(t, "proc/1/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n")
	d.put(t, "proc/swaps", "Filename Type Size Used Priority\n")
	d.add(t, "nvme0n1", "259:0", "SERIAL-A            ")
	d.add(t, "nvme1n1", "259:1", "SERIAL-B            ")
	return d
}

func (d *drives) add(t *testing.T, name, number, serial string) {
	t.Helper()
	b := "sys/block/" + name + "/"
	for file, text := range map[string]string{"device/serial": serial, "ro": "0", "dev": number, "size": "32768"} {
		d.put(t, b+file, text+"\n")
	}
	if err := os.Mkdir(filepath.Join(d.root, b, "holders"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.put(t, "dev/"+name, string(make([]byte, driveSize)))
}

func (d *drives) put(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join(d.root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (d *drives) bytes(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(d.root, "dev", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// poke changes bytes of a drive.
func (d *drives) poke(t *testing.T, name string, at int64, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(d.root, "dev", name), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteAt([]byte(text), at); err != nil {
		t.Fatal(err)
	}
}

// write runs the command as a node would and gives what it printed as evidence.
func (d *drives) write(t *testing.T, serials ...string) *Record {
	t.Helper()
	w := writer{dev: d.root + "/dev", sys: d.root + "/sys", proc: d.root + "/proc", kind: "-f"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", w.command(serials, 30*time.Second))
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "LC_ALL=C")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return loadPage(nvmeWriteName, out.String(), errs.String(), cmd.ProcessState.ExitCode())
}

func needsWriter(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"fio", "blkid", "wipefs"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed here")
		}
	}
	if os.Getuid() != 0 {
		t.Skip("only root is let write")
	}
}

// extSignature makes a filesystem on a drive.
func extSignature(t *testing.T, d *drives, name string) {
	t.Helper()
	mkfs, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		t.Skip("mkfs.ext4 is not installed here")
	}
	out, err := exec.CommandContext(t.Context(), mkfs, "-q", "-F", filepath.Join(d.root, "dev", name)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// A disk that holds anything, that somebody has, or that is another one is never written,
// and neither is the disk named beside it.
func TestNVMeWriteRefuses(t *testing.T) {
	needsWriter(t)
	for _, c := range []struct {
		name    string
		serials []string
		spoil   func(*testing.T, *drives)
		why     string
	}{
		{"another serial", []string{"SERIAL-C"}, nil, "no NVMe drive has serial SERIAL-C"},
		{"the beginning of a serial", []string{"SERIAL"}, nil, "no NVMe drive has serial SERIAL;"},
		{"a pattern", []string{"*"}, nil, "no NVMe drive has serial *"},
		{"an index", []string{"nvme0n1"}, nil, "no NVMe drive has serial nvme0n1"},
		{"a filesystem", []string{"SERIAL-A"}, func(t *testing.T, d *drives) { t.Helper(); extSignature(t, d, "nvme0n1") }, "disk SERIAL-A (nvme0n1) is not empty, blkid says: "},
		{"a filesystem on the second one named", []string{"SERIAL-A", "SERIAL-B"}, func(t *testing.T, d *drives) { t.Helper(); extSignature(t, d, "nvme1n1") }, "disk SERIAL-B (nvme1n1) is not empty"},
		{"a partition table", []string{"SERIAL-A"}, func(t *testing.T, d *drives) {
			t.Helper()
			d.poke(t, "nvme0n1", 446, "\x00\x20\x21\x00\x83\x1f\x04\x02\x00\x08\x00\x00\x00\x20\x00\x00")
			d.poke(t, "nvme0n1", 510, "\x55\xaa")
		}, "disk SERIAL-A (nvme0n1) is not empty"},
		{"a partition of the kernel", []string{"SERIAL-A"}, func(t *testing.T, d *drives) { t.Helper(); d.put(t, "sys/block/nvme0n1/nvme0n1p1/size", "1\n") }, "has partition nvme0n1p1"},
		{"held by the device mapper", []string{"SERIAL-A"}, func(t *testing.T, d *drives) { t.Helper(); d.put(t, "sys/block/nvme0n1/holders/dm-0", "") }, "is held by dm-0"},
		{"mounted", []string{"SERIAL-A"}, func(t *testing.T, d *drives) {
			t.Helper()
			d.put(t, "proc/7/mountinfo", "30 1 259:0 / /scratch rw - xfs /dev/nvme0n1 rw\n")
		}, "is mounted at /scratch"},
		{"mounted under another number", []string{"SERIAL-A"}, func(t *testing.T, d *drives) {
			t.Helper()
			d.put(t, "proc/7/mountinfo", "30 1 0:45 / /pool rw - btrfs "+d.root+"/dev/nvme0n1 rw\n")
		}, "is mounted at /pool"},
		{"nothing tells what is mounted", []string{"SERIAL-A"}, func(t *testing.T, d *drives) {
			t.Helper()
			if err := os.Remove(filepath.Join(d.root, "proc/1/mountinfo")); err != nil {
				t.Fatal(err)
			}
		}, "is mounted at (not known)"},
		{"swap", []string{"SERIAL-A"}, func(t *testing.T, d *drives) {
			t.Helper()
			d.put(t, "proc/swaps", "Filename Type Size Used Priority\n"+d.root+"/dev/nvme0n1 partition 1 0 -2\n")
		}, "is swap"},
		{"open", []string{"SERIAL-A"}, func(t *testing.T, d *drives) {
			t.Helper()
			if err := os.Symlink(filepath.Join(d.root, "dev/nvme0n1"), filepath.Join(d.root, "proc/1/fd/5")); err != nil {
				t.Fatal(err)
			}
		}, "is open in another program"},
		{"read-only", []string{"SERIAL-A"}, func(t *testing.T, d *drives) { t.Helper(); d.put(t, "sys/block/nvme0n1/ro", "1\n") }, "is read-only"},
		{"data without a signature", []string{"SERIAL-A"}, func(t *testing.T, d *drives) { t.Helper(); d.poke(t, "nvme0n1", 5000, "data") }, "holds data in its first MiB"},
		{"data at the end", []string{"SERIAL-A"}, func(t *testing.T, d *drives) { t.Helper(); d.poke(t, "nvme0n1", driveSize-700, "data") }, "holds data in its last MiB"},
		{"two namespaces", []string{"SERIAL-A"}, func(t *testing.T, d *drives) { t.Helper(); d.add(t, "nvme0n2", "259:9", "SERIAL-A") }, "has more than one namespace"},
		{"its device is gone", []string{"SERIAL-A"}, func(t *testing.T, d *drives) {
			t.Helper()
			if err := os.Rename(filepath.Join(d.root, "dev/nvme0n1"), filepath.Join(d.root, "dev/other")); err != nil {
				t.Fatal(err)
			}
			d.put(t, "dev/nvme0n2", "")
		}, "there is no "},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDrives(t)
			if c.spoil != nil {
				c.spoil(t, d)
			}
			before := map[string][]byte{}
			files, _ := filepath.Glob(filepath.Join(d.root, "dev/*"))
			for _, f := range files {
				before[filepath.Base(f)] = d.bytes(t, filepath.Base(f))
			}
			rec := d.write(t, c.serials...)
			l, err := parseNVMeWrite(rec.Evidence[0])
			if err != nil || !strings.Contains(l.Refused, c.why) || *rec.Evidence[0].Exit != 1 {
				t.Errorf("refused %q, %v, exit %d, want %q: %s%s", l.Refused, err, *rec.Evidence[0].Exit, c.why, rec.Evidence[0].Out, rec.Evidence[0].Err)
			}
			for name, want := range before {
				if !bytes.Equal(d.bytes(t, name), want) {
					t.Errorf("%s was written", name)
				}
			}
		})
	}
}

// An empty disk is written and read back, and no other; its ends stay blank, so that it
// can be written again.
func TestNVMeWriteWrites(t *testing.T) {
	needsWriter(t)
	d := newDrives(t)
	for range 2 {
		rec := d.write(t, "SERIAL-B")
		got := judgedWrite(t, rec, nil)
		drive := "nvme.throughput/written/NVMe " + d.root + "/dev/nvme1n1"
		wantAnswers(t, got, map[string]string{drive: "pass"}, false)
		if text := got[drive].Why; !strings.Contains(text, "left as written") {
			t.Errorf("it is not said that the disk is left as written: %q", text)
		}
	}
	blank := make([]byte, driveSize)
	if !bytes.Equal(d.bytes(t, "nvme0n1"), blank) {
		t.Error("a disk that was not named was written")
	}
	b := d.bytes(t, "nvme1n1")
	if !bytes.Equal(b[:1<<20], blank[:1<<20]) || !bytes.Equal(b[driveSize-1<<20:], blank[:1<<20]) || bytes.Equal(b, blank) {
		t.Error("the ends were written, or nothing was")
	}
}

// judgedWrite gives what is found of the writes alone.
func judgedWrite(t *testing.T, rec *Record, floor *profiles.Limit) map[string]Finding {
	t.Helper()
	p := &profiles.Profile{}
	p.NVMe.WriteRate = floor
	found := map[string]Finding{}
	for _, f := range judgeNVMeWrite(NewReadings(rec), p, writeSpec) {
		found[f.ID] = f
	}
	return found
}

var writeSpec = &profiles.Spec{Name: "writes", Loads: profiles.SpecLoads{NVMe: profiles.NVMeWrite}}

// What fio says of writes counts only when all of it was read back.
func TestNVMeWriteJudged(t *testing.T) {
	const head = "#nvme-write disk nvme0n1 SERIAL-A\n"
	const job = `{"jobname":"nvme0n1","error":0,"job options":{"filename":"/dev/nvme0n1"},"read":{"bw_bytes":3000000000,"total_ios":1000},"write":{"bw_bytes":2000000000,"total_ios":1000,"io_bytes":131072000}}`
	const written, write, all = "nvme.throughput/written/NVMe /dev/nvme0n1", "nvme.throughput/write/NVMe /dev/nvme0n1", "nvme.throughput/written/NVMe drives"
	swap := func(old, now string) string { return fioPage(strings.Replace(job, old, now, 1)) }
	for _, c := range []struct {
		name, out, err string
		exit           int
		want           map[string]string
	}{
		{"well", head + fioPage(job), "", 0, map[string]string{written: "pass", write: "pass"}},
		{"slow", head + swap("2000000000", "900000000"), "", 0, map[string]string{written: "pass", write: "fail"}},
		{"other data", head + "fio: pid=9, err=84/file:io_u.c:2190, func=io_u_queued_complete, error=Invalid or incomplete multibyte or wide character\n" + swap(`"error":0`, `"error":84`), "crc32c: verify failed at file /dev/nvme0n1 offset 2097152, length 131072\n", 1, map[string]string{written: "fail"}},
		{"an I/O error", head + swap(`"error":0`, `"error":5`), "", 1, map[string]string{written: "fail"}},
		{"not allowed", head + swap(`"error":0`, `"error":13`), "", 1, map[string]string{written: "not_run"}},
		{"not all read back", head + swap(`"total_ios":1000},"write"`, `"total_ios":999},"write"`), "", 124, map[string]string{written: "not_run"}},
		{"nothing read back", head + swap(`,"total_ios":1000},"write"`, `},"write"`), "", 0, map[string]string{written: "not_run"}},
		{"nothing written", head + swap(`"total_ios":1000,"io_bytes"`, `"total_ios":0,"io_bytes"`), "", 0, map[string]string{written: "not_run"}},
		{"one of two", head + "#nvme-write disk nvme1n1 SERIAL-B\n" + fioPage(job), "", 0, map[string]string{written: "pass", "nvme.throughput/written/NVMe nvme1n1": "not_run"}},
		{"refused", "#nvme-write refused disk SERIAL-A (nvme0n1) is held by md0; nothing was written\n", "", 1, map[string]string{all: "not_run"}},
		{"cut", head + fioPage(job)[:60], "", 0, map[string]string{all: "not_run"}},
		{"no jobs", head + fioPage(), "", 1, map[string]string{all: "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantAnswers(t, judgedWrite(t, loadPage(nvmeWriteName, c.out, c.err, c.exit), ratedLimit(profiles.Min, 1000, profiles.MBPerSecond)), c.want, false)
		})
	}
	none := judgedWrite(t, &Record{Meta: Meta{Coverage: CoverHost}}, nil)
	wantAnswers(t, none, map[string]string{all: "not_run"}, true)
	if got := judgeNVMeWrite(NewReadings(&Record{}), &profiles.Profile{}, &profiles.Spec{}); got != nil {
		t.Errorf("a spec that asks for no writes has %v", got)
	}
}

// Without both the spec and a person nothing is there that could write.
func TestConsent(t *testing.T) {
	for _, c := range []struct {
		name    string
		spec    *profiles.Spec
		consent Consent
		want    string
	}{
		{"neither", &profiles.Spec{}, Consent{}, ""},
		{"a person alone", &profiles.Spec{}, Consent{Disks: []string{"A"}}, ""},
		{"the spec alone", writeSpec, Consent{}, ""},
		{"both", writeSpec, Consent{Disks: []string{"A", "B'"}}, `set -- 'A' 'B'\'''`},
		{"refused", writeSpec, Consent{Disks: []string{"A"}, Refused: "it isn't this machine"}, `echo '#nvme-write refused it isn'\''t this machine'; exit 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			for _, l := range LoadsFor(Loads(), c.spec, c.consent) {
				if l.Name == nvmeWriteName {
					got = l.Command(&profiles.Profile{}, time.Minute)
				}
			}
			if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("the command is %.200q, want %q", got, c.want)
			}
		})
	}
	if got := nvmeWrite(Consent{})(nil, time.Minute); strings.Contains(got, "fio") {
		t.Errorf("without a disk: %q", got)
	}
	f := &Facts{NVMes: 4, CPUs: 8, tools: map[string]bool{"fio": true}}
	notice := Notice(f, LoadsFor(Loads(), writeSpec, Consent{Disks: []string{"A", "B"}}), nil, time.Minute, "")
	if !strings.Contains(notice, "WRITES to 2 disks (A, B) if found empty, and leaves what it wrote there.") || strings.Contains(notice, "Leaves nothing") {
		t.Errorf("the notice says %q", notice)
	}
	if notice := Notice(f, LoadsFor(Loads(), &profiles.Spec{}, Consent{}), nil, time.Minute, ""); !strings.Contains(notice, "Writes to no disk. Changes no setting. Leaves nothing.") {
		t.Errorf("the notice says %q", notice)
	}
}
