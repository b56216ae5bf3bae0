package burnin

import (
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// nics gives the profile of the healthy host limits of network adapters.
func nics(t *testing.T, change func(*profiles.NIC)) *profiles.Profile {
	t.Helper()
	p := *gpuProfile(t, "host-node")
	p.NIC.Count = countLimit(profiles.Equal, 1)
	p.NIC.Models = &profiles.Limit{Relation: profiles.OneOf, Text: []string{"15b3:1021"}}
	if change != nil {
		change(&p.NIC)
	}
	return &p
}

func countLimit(r profiles.Relation, n float64) *profiles.Limit {
	return &profiles.Limit{Relation: r, Value: profiles.Quantity{Value: n, Unit: profiles.Count}, Provenance: profiles.FromAgreed, Source: "the test"}
}

func gbit(n float64) *profiles.Limit {
	return &profiles.Limit{Relation: profiles.Min, Value: profiles.Quantity{Value: n, Unit: profiles.GbPerSecond}, Provenance: profiles.FromAgreed, Source: "the test"}
}

func TestNICLink(t *testing.T) {
	const net = "net\t0000:1a:00.0\tens1f0np0\t7c:c2:55:00:10:01\t"
	port := func(ref, state, speed, downs string) gpuEdit {
		old := map[string]string{"before/pci-sysfs": net + "1000\t2000", "after/pci-sysfs": net + "9000001000\t2000"}[ref]
		return swap(ref, old, old+"\nport\t0000:1a:00.0\tens1f0np0\t"+state+"\t"+speed+"\t"+downs)
	}
	const before, after = "before/pci-sysfs", "after/pci-sysfs"
	healthy := []gpuEdit{port(before, "up", "400000", "1"), port(after, "up", "400000", "1")}
	all := func(n *profiles.NIC) {
		n.LinksUp, n.Speed, n.Flaps = countLimit(profiles.Min, 1), gbit(400), countLimit(profiles.Max, 0)
	}
	const flaps, speed, up, count = "nic.link/flaps/NIC port ens1f0np0", "nic.link/speed/NIC port ens1f0np0", "nic.link/links_up/network adapters", "nic.link/count/network adapters"
	withoutLoad := func(rec *Record) {
		rec.Evidence = slices.DeleteFunc(rec.Evidence, func(e *Evidence) bool { return e.Phase == PhaseLoad })
	}
	for _, c := range []struct {
		name   string
		limits func(*profiles.NIC)
		edits  []gpuEdit
		setup  func(*Record)
		want   map[string]string
	}{
		{"all well", all, healthy, nil, map[string]string{count: "pass", flaps: "pass", speed: "pass", up: "pass"}},
		{"a capture of an older version tells the count only", nil, nil, nil, map[string]string{count: "pass", flaps: "not_applicable"}},
		{"and where more is asked, it is open", all, nil, nil, map[string]string{count: "pass", flaps: "not_run", speed: "not_applicable", up: "not_run"}},
		{"one is missing", func(n *profiles.NIC) { n.Count = countLimit(profiles.Equal, 2) }, healthy, nil, map[string]string{count: "fail"}},
		{"it left under load", nil, healthy, func(rec *Record) { removeDevice(rec, "after/pci-sysfs", "0000:1a:00.0") }, map[string]string{count: "fail"}},
		{"another model", func(n *profiles.NIC) { n.Models.Text = []string{"15b3:101d"} }, healthy, nil, map[string]string{count: "fail"}},
		{"not looked at behind the load", nil, healthy, func(rec *Record) { drop(t, rec, "after/pci-sysfs") }, map[string]string{count: "not_run"}},
		{"the link was lost twice", all, []gpuEdit{port(before, "up", "400000", "1"), port(after, "up", "400000", "3")}, nil, map[string]string{flaps: "fail"}},
		{"the link was lost, and nothing tells of a load", all, []gpuEdit{port(before, "up", "400000", "1"), port(after, "up", "400000", "3")}, withoutLoad, map[string]string{flaps: "fail"}},
		{"the link held, and nothing tells of a load", all, []gpuEdit{port(before, "up", "400000", "3"), port(after, "up", "400000", "3")}, withoutLoad, map[string]string{flaps: "pass"}},
		{"the driver tells of a break, and nothing of a load", nil, healthy[:1], func(rec *Record) {
			withoutLoad(rec)
			drop(t, rec, after)
			logLine(rec, true, "mlx5_core 0000:1a:00.0 ens1f0np0: Link down")
		}, map[string]string{flaps: "warn"}},
		{"the link was lost, and nobody set a limit", nil, []gpuEdit{port(before, "up", "400000", "1"), port(after, "up", "400000", "2")}, nil, map[string]string{flaps: "warn"}},
		{"no cable, and none asked for", nil, []gpuEdit{port(before, "down", "", "0"), port(after, "down", "-1", "0")}, nil, map[string]string{count: "pass"}},
		{"no cable where one was ordered", all, []gpuEdit{port(before, "down", "", "0"), port(after, "down", "-1", "0")}, nil, map[string]string{up: "fail", speed: "not_applicable"}},
		{"a slow link", all, []gpuEdit{port(before, "up", "400000", "1"), port(after, "up", "100000", "1")}, nil, map[string]string{speed: "fail"}},
		{"a speed that nobody knows", all, []gpuEdit{port(before, "up", "-1", "1"), port(after, "up", "-1", "1")}, nil, map[string]string{speed: "not_run"}},
		{"the driver tells of a break", nil, healthy, func(rec *Record) { logLine(rec, true, "mlx5_core 0000:1a:00.0 ens1f0np0: Link down") }, map[string]string{flaps: "warn"}},
		{"a break at boot means nothing", nil, healthy, func(rec *Record) { logLine(rec, false, "mlx5_core 0000:1a:00.0 ens1f0np0: Link down") }, map[string]string{flaps: "not_applicable"}},
		{"a port of no profile", nil, healthy, func(rec *Record) { logLine(rec, true, "igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Down") }, map[string]string{"nic.link/flaps/NIC port eno1": "warn"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := hostNode(t)
			for _, e := range c.edits {
				e.apply(t, rec)
			}
			if c.setup != nil {
				c.setup(rec)
			}
			wantAnswers(t, judged(t, rec, nics(t, c.limits), newGPUParts, nicLink), c.want, false)
		})
	}
}

// A counter of one loose listing has no test to be counted over.
func TestLinkFlapsOfLooseFiles(t *testing.T) {
	p := nics(t, func(n *profiles.NIC) { n.Flaps = countLimit(profiles.Max, 0) })
	tree := func(downs string) []byte {
		before := hostNode(t).find(PhaseBefore, "pci-sysfs", "").Out
		return []byte(strings.Replace(string(before), "\t1000\t2000\n", "\t1000\t2000\nport\t0000:1a:00.0\tens1f0np0\tup\t400000\t"+downs+"\n", 1))
	}
	const flaps = "nic.link/flaps/NIC port ens1f0np0"
	one := judged(t, looseHost(map[string][]byte{"pci-sysfs": tree("3")}), p, newGPUParts, nicLink)
	if f, ok := one[flaps]; ok {
		t.Errorf("%s of one reading: %+v", flaps, f)
	}
	two := judged(t, looseHost(map[string][]byte{"before/pci-sysfs": tree("3"), "after/pci-sysfs": tree("4")}), p, newGPUParts, nicLink)
	wantAnswers(t, two, map[string]string{flaps: "fail"}, false)
}

// A profile without adapters asks nothing.
func TestNICLinkWithoutAdapters(t *testing.T) {
	p := *gpuProfile(t, "host-node")
	p.NIC = profiles.NIC{}
	p.PCIe.NIC = profiles.PCIeClass{}
	wantAnswers(t, judged(t, hostNode(t), &p, newGPUParts, nicLink), map[string]string{"nic.link/count/network adapters": "not_applicable"}, true)
}
