package provision

import (
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

func bmcParts(words string) (list []burnin.BMCPart) {
	for word := range strings.FieldsSeq(words) {
		label, serial, _ := strings.Cut(word, "=")
		list = append(list, burnin.BMCPart{Label: label, Serial: serial, Present: serial != "-"})
	}
	return list
}

// Parts are told by place and serial number: what is lost, moved, other, new or not told.
func TestCompareFactory(t *testing.T) {
	for _, test := range []struct {
		was, here string
		off       bool
		partial   []string
		verdict   Delivered
		text      string
	}{
		{"A=1 B=2", "A=1 B=2", false, nil, AsExpected, ""},
		{"A=1 B=2", "A=2 B=1", false, nil, Differs, "GPU A S/N 1 is at B now; GPU B S/N 2 is at A now"},
		{"A=1 B=2", "A=1 B=9", false, nil, Differs, "GPU B S/N 2 is gone, in its place is S/N 9"},
		{"A=1 B=2", "A=1", false, nil, Differs, "GPU B S/N 2 is missing"},
		{"A=1 B=2", "A=1 B=-", false, nil, Differs, "GPU B S/N 2 is missing"},
		{"A=1 B=2", "A=1", true, nil, NotTold, "GPU B S/N 2 is not listed (the host is off"},
		{"A=1 B=2", "A=1", false, []string{"/redfish/v1/Systems/1/Processors/GPU2: status 500"}, NotTold, "GPU B S/N 2 is not listed (not all could be read"},
		{"A=1", "A=1 C=3", false, nil, Differs, "GPU C S/N 3 was not there"},
		{"A=1", "A=", false, nil, NotTold, "GPU A S/N 1: the BMC tells no serial number of it now"},
		{"A= B=", "A= B=", false, nil, NotTold, "of 2 GPUs the record has no serial number"},
		{"", "", false, nil, NotTold, "the BMC lists no GPU, neither then nor now"},
	} {
		v := &askedBMC{tree: burnin.BMCTree{GPUs: bmcParts(test.here)}, inv: redfish.Inventory{Partial: test.partial}, power: redfish.On}
		if test.off {
			v.power = redfish.Off
		}
		c := v.compareFactory(Factory{Tree: burnin.BMCTree{GPUs: bmcParts(test.was)}})[0]
		if c.Part != string(KindGPU) || c.Verdict != test.verdict || !strings.HasPrefix(c.Text, test.text) {
			t.Errorf("%q then, %q now: %s %q, want %s %q", test.was, test.here, c.Verdict, c.Text, test.verdict, test.text)
		}
	}
}

func TestCompareMACs(t *testing.T) {
	for _, test := range []struct {
		was, here []string
		verdict   Delivered
	}{
		{[]string{"a", "b"}, []string{"b", "a"}, AsExpected},
		{[]string{"a", "b"}, []string{"a"}, Differs},
		{[]string{"a"}, []string{"a", "c"}, Differs},
		{[]string{"a"}, nil, NotTold},
		{nil, nil, NotTold},
	} {
		if c := compareMACs(test.was, test.here); c.Verdict != test.verdict || (c.Text == "") != (c.Verdict == AsExpected) {
			t.Errorf("%v, %v: %+v", test.was, test.here, c)
		}
	}
}

// The log is told from the end of the record on, and judges nothing.
func TestCompareLog(t *testing.T) {
	end := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	log := []redfish.LogEntry{
		{Time: end.Add(-time.Hour), Severity: "Critical", Event: "before"},
		{Time: end.Add(time.Hour), Severity: "Critical", Sensor: "PSU 1", Event: "AC lost"},
		{Time: end.Add(2 * time.Hour), Severity: "OK", Event: "AC back"},
		{Severity: "Critical", Event: "without a clock"},
	}
	c := compareLog(log, "", end)
	if c.Verdict != AsExpected || c.Here != "1 Critical, 1 OK; last critical: 2026-03-01T09:00:00Z PSU 1 AC lost" {
		t.Errorf("%+v", c)
	}
	if c := compareLog(nil, "status 500", end); c.Here != "nothing new (not all could be read: status 500)" {
		t.Errorf("%+v", c)
	}
	if c := compareLog(log, "", time.Time{}); c.Here != "the record does not say when it ended" {
		t.Errorf("%+v", c)
	}
}
