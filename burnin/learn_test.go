package burnin_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// goodNodes are copies of one healthy machine whose first drive reads as fast as rates say, in MB/s.
func goodNodes(t *testing.T, base *burnin.Record, orders []string, rates []int) []*burnin.Record {
	t.Helper()
	nodes := make([]*burnin.Record, len(orders))
	for i, order := range orders {
		rec := copyRecord(base)
		rec.Machine.Name, rec.Machine.Order = fmt.Sprintf("node%d", i+1), order
		asHardware(rec, fmt.Sprintf("REAL%d", i+1))
		fio := evidenceOf(t, rec, "load/fio")
		fio.Out = bytes.Replace(fio.Out, []byte(`"bw_bytes": 3200000000`), fmt.Appendf(nil, `"bw_bytes": %d000000`, rates[i]), 1)
		nodes[i] = rec
	}
	return nodes
}

// asHardware makes the record of a simulated machine one of a real one with a serial number of its own.
func asHardware(rec *burnin.Record, serial string) {
	old := rec.Machine.Wanted.Serial
	rec.Machine.Wanted.Serial, rec.Meta.Simulated = serial, false
	for _, e := range rec.Evidence {
		e.Simulated, e.StandIn = false, false
		e.Out = bytes.ReplaceAll(e.Out, []byte(old), []byte(serial))
	}
}

func TestLearn(t *testing.T) {
	t.Parallel()
	base, _ := healthyRecord(t, "l40s-8", burnin.Loads(), nil)
	lib := shippedLibrary()
	p, err := lib.Profile("l40s-8")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := lib.Spec("standard")
	if err != nil {
		t.Fatal(err)
	}
	lesson := burnin.Lesson{Base: p, Spec: spec, Spreads: 3}
	nodes := goodNodes(t, base, []string{"PO1", "PO1", "PO2", "PO2"}, []int{3100, 3150, 3200, 3190})
	found, err := burnin.Learn(nodes, lesson)
	if err != nil {
		t.Fatal(err)
	}
	limits := map[string]*profiles.Limit{}
	for _, l := range found {
		limits[l.Path] = l.Limit
	}
	for path, want := range map[string]string{
		"nvme.read_rate": "3100 MB/s", // the lowest of 32 drives, of which 29 read alike
		"nvme.count":     "8", "memory.dimms": "16", "memory.speed": "4800 MT/s",
		"gpu.memory": "", "gpu.bar1": "", // stated already
	} {
		if got := limits[path].String(); got != want {
			t.Errorf("%s: learned %q, want %q", path, got, want)
		}
	}
	rate := limits["nvme.read_rate"]
	if rate == nil || rate.Provenance != profiles.FromMeasured || !strings.Contains(rate.Source, "32 parts of 4 nodes: median 3200, spread 0, lowest 3100 MB/s; orders PO1, PO2") {
		t.Errorf("read rate %+v", rate)
	}

	text, err := profiles.Draft("ours", "Ours", "l40s-8", limits)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := profiles.ParseProfile("ours.yaml", text, lib)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, rec := range nodes {
		if j := burnin.Judge(rec, ours, spec); j.Result != burnin.Passed {
			t.Errorf("%s of the nodes learned of: %s", rec.Machine.Name, describe(j))
		}
	}
	slow := goodNodes(t, base, []string{"PO3"}, []int{3000})[0]
	if j := burnin.Judge(slow, ours, spec); j.Result != burnin.Failed {
		t.Errorf("a slower drive is %s", j.Result)
	}
	floor := ours.Limit("nvme.read_rate")
	lesson.Base = ours
	again, err := burnin.Learn(goodNodes(t, base, []string{"PO1", "PO2", "PO2", "PO3"}, []int{3100, 3100, 3100, 3100}), lesson)
	if err != nil || len(again) != 0 {
		t.Errorf("learned below or beside %s, which has a source: %+v, %v", floor, again, err)
	}
}

func TestLearnRefuses(t *testing.T) {
	base, _ := healthyHGX(t)
	lib := shippedLibrary()
	p, err := lib.Profile("hgx-h100-8")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := lib.Spec("standard")
	if err != nil {
		t.Fatal(err)
	}
	fast := []int{3200, 3200, 3200, 3200}
	for _, test := range []struct {
		name, consent string
		nodes         []*burnin.Record
		want          string // part of the error, "" = learns
	}{
		{"one delivery", "", goodNodes(t, base, []string{"PO1", "PO1", "PO1", "PO1"}, fast), "1 deliveries"},
		{"no order known", "", goodNodes(t, base, []string{"", "", "", ""}, fast), "0 deliveries"},
		{"few nodes", "", goodNodes(t, base, []string{"PO1", "PO2"}, fast), "2 nodes are too few"},
		{"few nodes, agreed", "the lead: first rack of its kind", goodNodes(t, base, []string{"PO1"}, fast), ""},
		{"none", "the lead", nil, "no node"},
	} {
		found, err := burnin.Learn(test.nodes, burnin.Lesson{Base: p, Spec: spec, Spreads: 3, Consent: test.consent})
		switch {
		case (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		case err == nil && (len(found) == 0 || !strings.Contains(found[0].Limit.Source, "consent: the lead: first rack")):
			t.Errorf("%s: learned %+v", test.name, found)
		}
	}
	four := func() []*burnin.Record { return goodNodes(t, base, []string{"PO1", "PO1", "PO2", "PO2"}, fast) }
	for want, spoil := range map[string]func(rec *burnin.Record){
		"node2 was measured on a simulated machine": func(rec *burnin.Record) { rec.Evidence[0].Simulated = true },
		"by stand-ins for its tools":                func(rec *burnin.Record) { evidenceOf(t, rec, "load/fio").StandIn = true },
		"node2 did not pass":                        func(rec *burnin.Record) { evidenceOf(t, rec, "after/kernel-log").Out = nil },
		"node1 and node2 are one machine":           func(rec *burnin.Record) { asHardware(rec, "REAL1") },
	} {
		nodes := four()
		spoil(nodes[1])
		if _, err := burnin.Learn(nodes, burnin.Lesson{Base: p, Spec: spec, Spreads: 3}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	bad := goodNodes(t, base, []string{"PO1", "PO1", "PO2", "PO2"}, fast)
	edit{"after/nvlink", `Link 3: 26\.562 GB/s`, "Link 3: <inactive>"}.apply(t, bad[2])
	if _, err := burnin.Learn(bad, burnin.Lesson{Base: p, Spec: spec}); err == nil || !strings.Contains(err.Error(), "node3 is no good node") {
		t.Errorf("a bad node: %v", err)
	}
}
