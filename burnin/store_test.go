package burnin

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// stored is a folder with two evidences, one with samples and an instance.
func stored(t *testing.T) (*Store, []*Evidence) {
	t.Helper()
	s, err := OpenStore(filepath.Join(t.TempDir(), "run", "r12u07", "1"))
	if err != nil {
		t.Fatal(err)
	}
	exit := 3
	at := time.Date(2026, 11, 30, 14, 2, 11, 123_000_000, time.UTC)
	all := []*Evidence{
		{
			Probe: "nvme-smart", Instance: "nvme0", Phase: PhaseBefore, Command: "set -- 'nvme0'; nvme smart-log", Source: FromSSH,
			Started: at, BootID: "b", Seconds: 0.25, Exit: &exit, Ended: EndedExit, ToolVersion: "2.3", Out: []byte("out\x00\n"), Err: []byte("warning\n"),
		},
		{
			Probe: "pci-sysfs", Phase: PhaseLoad, Command: "cat", Source: FromSSH, Started: at, Ended: EndedTimeout, Out: []byte{}, Err: []byte{},
			Samples: []Sample{{At: at, Out: []byte("one\n")}, {At: at.Add(time.Second), Out: []byte{}}, {At: at.Add(2 * time.Second), Out: []byte("2026 4\nx")}},
		},
	}
	if err := s.SetMeta(Meta{Run: "r1", Machine: "r12u07", Attempt: 1, Coverage: CoverHost, Started: at}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetMachine(Machine{Name: "r12u07", Rack: "R12", U: 7}); err != nil {
		t.Fatal(err)
	}
	if err := s.SetProfile([]byte("name: p\n"), []byte("name: s\n")); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if err := s.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	return s, all
}

func pack(t *testing.T, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Pack(dir, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRecordComesBack(t *testing.T) {
	s, all := stored(t)
	archive := filepath.Join(t.TempDir(), "r12u07.tar.gz")
	if err := os.WriteFile(archive, pack(t, s.Dir()), 0o600); err != nil {
		t.Fatal(err)
	}
	above := filepath.Dir(filepath.Dir(s.Dir()))
	for _, from := range []string{s.Dir(), above, archive} {
		rec, err := LoadRecord(from)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(rec.Evidence, all) {
			t.Errorf("%s: evidence\n%+v, want\n%+v", from, rec.Evidence, all)
		}
		if rec.Meta.Machine != "r12u07" || rec.Machine.U != 7 || string(rec.Profile) != "name: p\n" || string(rec.Spec) != "name: s\n" {
			t.Errorf("%s: meta %+v, machine %+v", from, rec.Meta, rec.Machine)
		}
	}
}

func TestPackIsTheSameEveryTime(t *testing.T) {
	s, _ := stored(t)
	first := pack(t, s.Dir())
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(s.Dir(), metaFile), now, now); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir(), ".tmp-1"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, pack(t, s.Dir())) {
		t.Error("the same evidence gave two archives")
	}
}

// A process may be killed between any two files. A full measurement is not lost
// when its samples come, and samples that nobody sealed are none.
func TestKilledWhileSamplesAreAdded(t *testing.T) {
	s, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	full := &Evidence{Probe: "nvidia-smi", Phase: PhaseLoad, Source: FromSSH, Started: time.Now(), Ended: EndedExit, Exit: new(int), Out: []byte("full")}
	if err := s.Add(full); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(s.path("load/nvidia-smi.json"))
	if err != nil {
		t.Fatal(err)
	}
	sampled := *full
	sampled.Samples = []Sample{{At: time.Now().UTC().Truncate(time.Millisecond), Out: []byte("one\n")}}
	for range 2 { // the second time as after a kill behind the first
		if err := s.Add(&sampled); err != nil {
			t.Fatal(err)
		}
		if got, err := s.evidence(PhaseLoad, "nvidia-smi"); err != nil || string(got.Out) != "full" || len(got.Samples) != 1 {
			t.Fatalf("with samples: %+v, %v", got, err)
		}
	}
	// As it stood on disk between the samples and the new .json.
	if err := os.WriteFile(s.path("load/nvidia-smi.json"), before, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := s.evidence(PhaseLoad, "nvidia-smi"); err != nil || string(got.Out) != "full" || len(got.Samples) != 0 {
		t.Errorf("killed in between: %+v, %v", got, err)
	}
}

func TestSweepRemovesWhatWasHalfWritten(t *testing.T) {
	s, all := stored(t)
	for _, f := range []string{".tmp-1", "load/.tmp-2"} {
		if err := os.WriteFile(s.path(f), []byte("ha"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sweep(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(s.path("*/.tmp-*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if rec, err := s.Record(); err != nil || len(rec.Evidence) != len(all) {
		t.Errorf("the record after it: %v", err)
	}
}

func TestStoreRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(t *testing.T, dir string)
		says   string
	}{
		{"changed output", edit("before/nvme-smart@nvme0.out", "other"), "before/nvme-smart@nvme0.out was changed"},
		{"changed stderr", edit("load/pci-sysfs.err", "x"), "load/pci-sysfs.err was changed"},
		{"changed samples", edit("load/pci-sysfs.samples", "2026-11-30T14:02:11.123Z 1\nx\n"), "load/pci-sysfs.samples was changed"},
		{"output gone", gone("before/nvme-smart@nvme0.out"), "before/nvme-smart@nvme0.out is missing"},
		{"samples gone", gone("load/pci-sysfs.samples"), "load/pci-sysfs.samples is missing"},
		{"newer schema", edit(metaFile, `{"schema":"rackproof/evidence/9"}`), `schema "rackproof/evidence/9"`},
		{"no schema", edit(metaFile, `{}`), `schema ""`},
		{"broken json", edit("load/pci-sysfs.json", "{"), "load/pci-sysfs.json"},
		{"not evidence", gone(metaFile), "not an evidence folder"},
		{"moved", func(t *testing.T, dir string) {
			t.Helper()
			for _, suffix := range []string{".out", ".err", ".json"} {
				if err := os.Rename(filepath.Join(dir, "before/nvme-smart@nvme0"+suffix), filepath.Join(dir, "before/nvme-smart@nvme1"+suffix)); err != nil {
					t.Fatal(err)
				}
			}
		}, "the file was moved or edited"},
		{"link out of it", func(t *testing.T, dir string) {
			t.Helper()
			gone("load/pci-sysfs.out")(t, dir)
			if err := os.Symlink("/etc/hostname", filepath.Join(dir, "load/pci-sysfs.out")); err != nil {
				t.Fatal(err)
			}
		}, "load/pci-sysfs.out is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := stored(t)
			tt.change(t, s.Dir())
			if _, err := s.Record(); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
}

func edit(name, text string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func gone(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestInterruptedAdd: a crash between the files of an evidence leaves none of it.
func TestInterruptedAdd(t *testing.T) {
	s, _ := stored(t)
	gone("before/nvme-smart@nvme0.json")(t, s.Dir())
	rec, err := s.Record()
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Evidence) != 1 || s.Has(PhaseBefore, "nvme-smart@nvme0") {
		t.Errorf("%d evidences, has %v", len(rec.Evidence), s.Has(PhaseBefore, "nvme-smart@nvme0"))
	}
}

func TestAddKeepsNamesInside(t *testing.T) {
	s, _ := stored(t)
	for _, e := range []*Evidence{
		{Probe: "nvme-smart", Instance: "../../x", Phase: PhaseBefore},
		{Probe: "nvme-smart", Instance: ".hidden", Phase: PhaseBefore},
		{Probe: "../x", Phase: PhaseBefore},
		{Probe: "os", Phase: "../x"},
	} {
		if err := s.Add(e); err == nil {
			t.Errorf("%s was stored", e.Ref())
		}
	}
}

func TestArchiveRefuses(t *testing.T) {
	tests := []struct {
		name string
		head tar.Header
		says string
	}{
		{"outside", tar.Header{Name: "../evidence.json", Typeflag: tar.TypeReg}, "points outside"},
		{"absolute", tar.Header{Name: "/etc/evidence.json", Typeflag: tar.TypeReg}, "points outside"},
		{"link", tar.Header{Name: "a/before/os.out", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, "is a link"},
		{"too large", tar.Header{Name: "a/before/os.out", Typeflag: tar.TypeReg, Size: maxFile + 1}, "larger than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			gz := gzip.NewWriter(&b)
			tw := tar.NewWriter(gz)
			if err := tw.WriteHeader(&tt.head); err != nil {
				t.Fatal(err)
			}
			_ = tw.Flush()
			_ = gz.Close()
			if _, err := readTar(&b); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one that says %q", err, tt.says)
			}
		})
	}
}

func TestLooseRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "smi=1.xml")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	rec, err := LooseRecord([]string{"nvidia-smi=" + file, "after/nvidia-smi=" + file, "load/nvme-smart@nvme0=" + file})
	if err != nil {
		t.Fatal(err)
	}
	var refs []string
	for _, e := range rec.Evidence {
		refs = append(refs, e.Ref())
		if e.Source != FromLoose || e.Ended != EndedUnknown || e.Exit != nil || string(e.Out) != "text" {
			t.Errorf("%s: %+v", e.Ref(), e)
		}
	}
	if got := strings.Join(refs, " "); got != "before/nvidia-smi after/nvidia-smi load/nvme-smart@nvme0" {
		t.Errorf("refs %s", got)
	}
	if rec.Meta.Coverage != CoverPartial {
		t.Errorf("coverage %s", rec.Meta.Coverage)
	}
	for arg, says := range map[string]string{
		"nvidia-smi":                "want [before/|load/|after/]NAME",
		"nvidia-smi=":               "want [before/|load/|after/]NAME",
		"later/nvidia-smi=" + file:  "no such phase",
		"Nvidia SMI=" + file:        "not a probe name",
		"nvidia-smi=/nonexistent/x": "/nonexistent/x",
	} {
		if _, err := LooseRecord([]string{arg}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want one that says %q", arg, err, says)
		}
	}
	if _, err := LooseRecord([]string{"os=" + file, "before/os=" + file}); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("the same probe twice: %v", err)
	}
}

func FuzzParseSamples(f *testing.F) {
	f.Add([]byte("2026-11-30T14:02:11.123Z 4\none\n\n2026-11-30T14:02:12.000Z 0\n\n"))
	f.Add([]byte("2026-11-30T14:02:11Z 99999999999\nx"))
	f.Fuzz(func(t *testing.T, b []byte) {
		samples, err := ParseSamples(b)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := FormatSamples(&again, samples); err != nil {
			t.Fatal(err)
		}
		twice, err := ParseSamples(again.Bytes())
		if err != nil || len(twice) != len(samples) {
			t.Errorf("%d samples came back as %d: %v", len(samples), len(twice), err)
		}
	})
}

func FuzzReadTar(f *testing.F) {
	f.Add([]byte{})
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	_, _ = gz.Write([]byte("not a tar"))
	_ = gz.Close()
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		files, err := readTar(bytes.NewReader(b))
		if err != nil {
			return
		}
		for name := range files.byName {
			if strings.HasPrefix(name, "/") || strings.Contains(name, "..") && !filepath.IsLocal(name) {
				t.Errorf("name %q", name)
			}
		}
		_, _ = readRecord("fuzz", files)
	})
}

func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"schema":"rackproof/evidence/1"}`), []byte(`{"probe":"os","phase":"before"}`), []byte("x"))
	f.Fuzz(func(t *testing.T, meta, evidence, out []byte) {
		files := &fileSet{byName: map[string][]byte{metaFile: meta, "before/os.json": evidence, "before/os.out": out, "before/os.err": {}}}
		rec, err := readRecord("fuzz", files)
		if err == nil && len(rec.Evidence) == 1 && sum(rec.Evidence[0].Out) != rec.Evidence[0].SHA256Out {
			t.Error("evidence was accepted against its hash")
		}
	})
}
