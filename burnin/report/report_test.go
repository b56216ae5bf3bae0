package report

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// attempt writes the folder of a machine with one drive whose health says that it
// fails, and returns it.
func attempt(t *testing.T, machine string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), machine, "1")
	store, err := burnin.OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	lib := profiles.Open()
	p, err := lib.Profile("l40s-8")
	if err != nil {
		t.Fatal(err)
	}
	s, err := lib.Spec("standard")
	if err != nil {
		t.Fatal(err)
	}
	zero := 0
	drive := &burnin.Evidence{
		Probe: "smartctl", Instance: "nvme0", Phase: burnin.PhaseBefore, Command: `smartctl -j -a "/dev/$1"`,
		Source: burnin.FromSSH, Started: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Exit: &zero, Ended: burnin.EndedExit,
		Out: []byte(`{"smartctl":{"exit_status":0},"device":{"name":"/dev/nvme0","protocol":"NVMe"},"model_name":"<b>Drive & Co</b>","serial_number":"SN0001",
"smart_status":{"passed":true},"nvme_smart_health_information_log":{"critical_warning":0,"temperature":30,"available_spare":0,"available_spare_threshold":10,
"percentage_used":0,"data_units_written":5,"power_on_hours":3,"power_cycles":2,"media_errors":0,"num_err_log_entries":0}}`),
	}
	err = errorsOf(
		store.SetMeta(burnin.Meta{Schema: burnin.EvidenceSchema, Run: "r", Machine: machine, Attempt: 1, Coverage: burnin.CoverHost, Ended: time.Date(2026, 5, 4, 3, 12, 1, 0, time.UTC)}),
		store.SetMachine(burnin.Machine{Name: machine, Rack: "R1", U: 7, Customer: "Customer <i>", Order: "PO-1"}),
		store.SetProfile(p.Bytes(), s.Bytes()),
		store.Add(drive),
	)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestSaveNamesTheFaultAndIsRepeatable(t *testing.T) {
	dir := attempt(t, "r1u07")
	m, err := Save(dir, Read{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Result != burnin.Failed {
		t.Errorf("result %s, want failed: the drive's spare is below its threshold", m.Result)
	}
	if !strings.HasPrefix(m.Line, "FAIL r1u07 (R1 U07) ") || !strings.Contains(m.Line, "nvme0") {
		t.Errorf("first line %q does not name machine, place and drive", m.Line)
	}
	if n := len([]rune(m.Line)); n > 100 {
		t.Errorf("first line has %d characters, at most 100 fit a ticket's subject", n)
	}
	first := readFiles(t, dir)
	if _, err := Save(dir, Read{}, nil); err != nil {
		t.Fatal(err)
	}
	for name, b := range readFiles(t, dir) {
		if !bytes.Equal(b, first[name]) {
			t.Errorf("%s changed when the report was made again", name)
		}
	}
}

func readFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{burnin.ManifestFile, HTMLFile, JSONFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
	}
	return files
}

// A customer verifies with nothing of ours.
func TestManifestIsCheckedBySha256sum(t *testing.T) {
	tool, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("sha256sum is not on this system: ", err)
	}
	dir := attempt(t, "r1u07")
	if _, err := Save(dir, Read{}, nil); err != nil {
		t.Fatal(err)
	}
	check := func() error {
		cmd := exec.Command(tool, "--quiet", "-c", burnin.ManifestFile)
		cmd.Dir = dir
		return cmd.Run()
	}
	if err := check(); err != nil {
		t.Errorf("untouched evidence: %v", err)
	}
	out := filepath.Join(dir, "before", "smartctl@nvme0.out")
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out, bytes.Replace(b, []byte(`"available_spare":0`), []byte(`"available_spare":9`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if check() == nil {
		t.Error("altered evidence: sha256sum finds nothing")
	}
	if _, err := Load(dir); err == nil {
		t.Error("altered evidence was judged")
	}
}

func TestPageIsSelfContainedAndEscaped(t *testing.T) {
	dir := attempt(t, "r1u07")
	if _, err := Save(dir, Read{}, nil); err != nil {
		t.Fatal(err)
	}
	page := string(readFiles(t, dir)[HTMLFile])
	for _, bad := range []string{"<script", "http://", "https://", "src=", "@import", "<b>Drive", "Customer <i>"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	for _, want := range []string{"FAILED", "PO-1", "SN0001", "not a warranty", "sha256sum -c SHA256SUMS", "prefers-color-scheme:dark", "@media print", "accepted", "refused", "State at handover", "before/smartctl@nvme0"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		id, err := url.PathUnescape(m[1]) // as a browser does to find the id
		if err != nil || !strings.Contains(page, `id="`+id+`"`) {
			t.Errorf("the page links to #%s, which is not on it", m[1])
		}
	}
}

func finding(check, quantity, part string, measured float64, v burnin.Verdict, relation string) burnin.Finding {
	f := burnin.About(check, quantity, burnin.Part{Name: part, Serial: "S-" + part}, "before/x")
	f.Scope, f.Verdict, f.Relation = profiles.Required, v, relation
	f.Measured, f.Limit = measured, 10.0
	return f
}

func TestWorstByQuantity(t *testing.T) {
	fs := []burnin.Finding{
		finding("a", "speed", "P1", 12, burnin.Pass, "min"),
		finding("a", "speed", "P2", 11, burnin.Pass, "min"),
		finding("a", "errors", "P1", 1, burnin.Pass, "max"),
		finding("a", "errors", "P2", 7, burnin.Pass, "max"),
		finding("b", "speed", "P1", 99, burnin.Fail, "min"),
		finding("b", "speed", "P2", 5, burnin.Pass, "min"),
	}
	lines := WorstByQuantity(fs, profiles.Required)
	var got []string
	for _, l := range lines {
		got = append(got, l.Check+"/"+l.Quantity+"/"+l.Part)
	}
	want := []string{"a/speed/P2", "a/errors/P2", "b/speed/P1"}
	if !slices.Equal(got, want) {
		t.Errorf("worst cells %v, want %v", got, want)
	}
	if lines[2].Parts != 2 || lines[2].Bad != 1 {
		t.Errorf("b/speed: %d parts, %d bad; want 2 and 1", lines[2].Parts, lines[2].Bad)
	}
	checks := WorstByCheck(fs)
	if len(checks) != 2 || checks[0].Findings != 4 || checks[1].Verdict != burnin.Fail {
		t.Errorf("by check: %+v", checks)
	}
}

func TestCausesGroupMachines(t *testing.T) {
	judged := func(machine, check string) burnin.Judgement {
		return burnin.Judgement{Machine: burnin.MachineLine{Name: machine}, Result: burnin.Failed, Findings: []burnin.Finding{finding(check, "q", "P "+machine, 1, burnin.Fail, "min")}}
	}
	causes := Causes([]burnin.Judgement{judged("m1", "x"), judged("m2", "y"), judged("m3", "y")})
	if len(causes) != 2 || causes[0].Check != "y" || !slices.Equal(causes[0].Machines, []string{"m2", "m3"}) {
		t.Errorf("causes %+v: want y of m2 and m3 first, then x", causes)
	}
}

func TestTextSpellsALadderOnce(t *testing.T) {
	j := burnin.Judgement{Line: "FAIL m1 …", Result: burnin.Failed, Run: "r", Machine: burnin.MachineLine{Name: "m1"}}
	for _, part := range []string{"GPU SXM1", "GPU SXM2"} {
		f := finding("pcie.link", "width", part, 8, burnin.Fail, "min")
		f.Unit, f.Advice = "lanes", []burnin.Advice{{Do: "cords out 60 s", Minutes: 12, Who: "hands"}}
		j.Findings = append(j.Findings, f)
	}
	var b strings.Builder
	if err := Text(&b, &j); err != nil {
		t.Fatal(err)
	}
	want := "FAIL m1 …\n" +
		"     part  S/N S-GPU SXM1\n" +
		"     seen  width 8 lanes, profile wants at least 10 lanes [width 8 lanes, limit ≥ 10 lanes] (pcie.link; evidence before/x)\n" +
		"     do    1 cords out 60 s, `rackproof done m1` (12 min, hands)\n" +
		"     also  GPU SXM2 width 8 lanes, profile wants at least 10 lanes\n" +
		"     part  S/N S-GPU SXM2\n" +
		"     seen  width 8 lanes, profile wants at least 10 lanes [width 8 lanes, limit ≥ 10 lanes] (pcie.link; evidence before/x)\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestTextNamesStandIns(t *testing.T) {
	j := burnin.Judgement{Line: "PASS m1", Evidence: []burnin.EvidenceID{
		{Ref: "before/nvidia-smi", StandIn: true}, {Ref: "before/lspci"}, {Ref: "load/nvidia-smi", StandIn: true}, {Ref: "load/gpu-burn", StandIn: true},
	}}
	var b strings.Builder
	if err := Text(&b, &j); err != nil {
		t.Fatal(err)
	}
	if want := "real hardware: nvidia-smi, gpu-burn\n"; !strings.Contains(b.String(), want) || strings.Contains(b.String(), "lspci") {
		t.Errorf("got\n%s\nwant %q in it", b.String(), want)
	}
}

func TestFolderTakesTheLastAttempt(t *testing.T) {
	first := attempt(t, "r1u07")
	if _, err := Save(first, Read{}, nil); err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(filepath.Dir(first), "2")
	if err := os.CopyFS(second, os.DirFS(first)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Dir(first), filepath.Dir(filepath.Dir(first))} {
		ms, err := Folder(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(ms) != 1 || len(ms[0].Attempts) != 1 || ms[0].Attempts[0].Result != burnin.Failed {
			t.Errorf("%s: %d machines, earlier attempts %+v; want one machine with one failed attempt before", path, len(ms), ms[0].Attempts)
		}
	}
	out := t.TempDir()
	ms, err := Folder(second)
	if err != nil {
		t.Fatal(err)
	}
	written, err := Write(out, "po1", "", ms, []string{"html", "json"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{filepath.Join(out, "r1u07.html"), filepath.Join(out, "r1u07.json")}; !slices.Equal(written, want) {
		t.Errorf("wrote %v, want %v", written, want)
	}
	if _, err := Folder(t.TempDir()); err == nil {
		t.Error("an empty folder gave a report")
	}
}
