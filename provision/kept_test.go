package provision

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
)

// What a retest left out and cannot take over after all is said, once.
func TestNothingKept(t *testing.T) {
	_, e, _ := moreEnv(t)
	e.Facts[factKept], e.Facts[FactNote] = "nvbandwidth", "seen before"
	if k := e.kept(&burnin.Record{}); k != nil { // there is no attempt before
		t.Errorf("kept %+v", k)
	}
	e.noteNothingKept()
	e.noteNothingKept()
	if note := e.Facts[FactNote]; !strings.HasPrefix(note, "seen before; nvbandwidth left out") || strings.Count(note, "--whole") != 1 {
		t.Errorf("note %q", note)
	}
}

// A part of which only is said that it is not the one ordered is touched as the part that
// it is; one that nothing else names leaves nothing out.
func TestPartsTouched(t *testing.T) {
	old := burnin.About("nvme.health", "percent_used", burnin.Part{Class: burnin.ClassOrder, Name: "NVMe bay 1", Serial: "D1"}).Judged(burnin.Fail, "used")
	old.Scope = "required"
	before := &burnin.Judgement{Findings: []burnin.Finding{old}}
	touched := []burnin.Class{burnin.ClassNVMe, burnin.ClassOrder}
	if got := partsTouched(before, touched); len(got) != 2 || got[1] != burnin.ClassOrder {
		t.Errorf("nothing names the part: %v", got)
	}
	before.Findings = append(before.Findings, burnin.About("nvme.link", "width", burnin.Part{Class: burnin.ClassNVMe, Name: "NVMe bay 1", Serial: "D1"}).Judged(burnin.Pass, "x4"))
	if got := partsTouched(before, touched); len(got) != 2 || got[1] != burnin.ClassNVMe {
		t.Errorf("touched %v", got)
	}
}
