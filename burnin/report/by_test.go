package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

func page(t *testing.T, m *Machine) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What did not come to its end is stamped, and nobody can sign it.
func TestUnfinishedIsNoRecordToSign(t *testing.T) {
	m, err := Load(attempt(t, "r1u07"))
	if err != nil {
		t.Fatal(err)
	}
	if text := page(t, m); strings.Contains(text, "Not finished:") || !strings.Contains(text, "Customer's declaration") {
		t.Error("a whole attempt is stamped, or has no boxes")
	}
	m.Record.Meta.Ended = time.Time{}
	if text := page(t, m); !strings.Contains(text, "Not finished:") || strings.Contains(text, "Customer's declaration") {
		t.Error("an attempt without an end can be signed")
	}
}

// The packet is the evidence: judged from it, the machine is the same.
func TestPacket(t *testing.T) {
	dir, out := attempt(t, "r1u07"), t.TempDir()
	ms, err := Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	written, err := Write(out, "b", "", ms, []string{"tar"})
	if err != nil || len(written) != 1 || filepath.Base(written[0]) != "r1u07.tar.gz" {
		t.Fatalf("%v, %v", written, err)
	}
	again, err := Folder(written[0])
	if err != nil || len(again) != 1 || again[0].Line != ms[0].Line {
		t.Fatalf("%+v, %v", again, err)
	}
	copied, err := again[0].packet()
	if first, rerr := os.ReadFile(written[0]); err != nil || rerr != nil || !bytes.Equal(copied, first) {
		t.Errorf("the packet of a packet is another: %v, %v", err, rerr)
	}
}

// A bare capture says what it lacks, and is judged by what is named.
func TestBareCapture(t *testing.T) {
	dir := attempt(t, "r1u07")
	rec, err := burnin.LoadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	rec.Profile, rec.Spec = nil, nil
	if _, err := (By{}).Record(rec); err == nil || !strings.Contains(err.Error(), "--profile") {
		t.Errorf("%v", err)
	}
	lib := profiles.Open()
	p, perr := lib.Profile("l40s-8")
	s, serr := lib.Spec("standard")
	if perr != nil || serr != nil {
		t.Fatal(perr, serr)
	}
	if _, err := (By{Profile: p}).Record(rec); err == nil || !strings.Contains(err.Error(), "--spec") {
		t.Errorf("%v", err)
	}
	m, err := By{Profile: p, Default: s}.Record(rec)
	if err != nil || m.Judgement.Profile.Name != "l40s-8" || m.Judgement.Spec.Name != "standard" {
		t.Errorf("%v", err)
	}
}
