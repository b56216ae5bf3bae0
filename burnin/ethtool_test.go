package burnin

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// ethtoolGood is one port with a cable, as ethtool 6.1 prints it.
const ethtoolGood = `#rackproof-ethtool 1
Settings for ens1f0np0:
	Supported ports: [ FIBRE ]
	Speed: 100000Mb/s
	Duplex: Full
	Link detected: yes
NIC statistics:
     rx_crc_errors_phy: 7
     rx_symbol_err_phy: 0
     rx_corrected_bits_phy: 4127
#module
	Identifier                                : 0x11 (QSFP28)
	Vendor name                               : Mellanox
	Vendor PN                                 : MMA1B00-C100D
	Vendor SN                                 : MT0001
	Module temperature high alarm             : Off
	Laser rx power low alarm (Channel 1)      : Off
	Laser rx power low alarm                  : Off
#rackproof-ethtool-end 1
`

func ethtoolReading(text string) Reading[EthtoolReport] {
	e := &Evidence{Probe: "ethtool", Out: []byte(text)}
	v, err := parseEthtool(e)
	return Reading[EthtoolReport]{Value: v, Err: err, Evidence: e}
}

func TestEthtool(t *testing.T) {
	r := ethtoolReading(ethtoolGood)
	p := r.Value.At("ens1f0np0")
	if r.Err != nil || !r.Value.Complete || p == nil || p.Link != "yes" || p.Speed.V != 100000 || p.Counters["rx_crc_errors_phy"].V != 7 ||
		p.Module.Model != "MMA1B00-C100D" || p.Module.Serial != "MT0001" || len(p.Module.Alarms) != 0 {
		t.Errorf("%+v, %v", r.Value, r.Err)
	}
	if r := ethtoolReading(strings.Replace(ethtoolGood, "end 1", "end 2", 1)); r.Value.Complete {
		t.Error("one of two ports is all")
	}
	down := ethtoolReading(strings.NewReplacer("100000Mb/s", "Unknown!", "detected: yes", "detected: no (No cable)").Replace(ethtoolGood)).Value.Ports[0]
	if down.Speed.Set || down.Link != "no" {
		t.Errorf("a port without a cable: %+v", down)
	}
	if r := ethtoolReading("netlink error: No such device\n"); r.Err == nil {
		t.Error("no port, and no error")
	}
}

func TestPortErrors(t *testing.T) {
	limit := countLimit(profiles.Max, 0)
	port := Part{Class: ClassCable, Name: "NIC port ens1f0np0"}
	for _, c := range []struct {
		name, from, to string
		limit          *profiles.Limit
		want           string
		measured       any
	}{
		{"none", "", "", limit, "pass", 0.0},
		{"some", "phy: 7", "phy: 19", limit, "fail", 12.0},
		{"some, without a limit", "phy: 7", "phy: 19", nil, "not_applicable", 12.0},
		{"corrected bits are no broken frames", "4127", "99999", limit, "pass", 0.0},
		{"back to zero", "phy: 7", "phy: 0", limit, "not_run", nil},
		{"a word", "phy: 7", "phy: n/a", limit, "not_run", nil},
		{"the counter is gone", "     rx_crc_errors_phy: 7\n     rx_symbol_err_phy: 0\n", "", limit, "not_run", nil},
		{"the port is gone", "ens1f0np0", "ens9", limit, "not_run", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			after := strings.Replace(ethtoolGood, c.from, c.to, 1)
			f := portErrors(About("nic.link", "errors", port), ethtoolReading(ethtoolGood), ethtoolReading(after), "ens1f0np0", c.limit)
			if answerWord(f) != c.want || f.NotRun == "" && f.Measured != c.measured {
				t.Errorf("%s %v (%s%s), want %s %v", answerWord(f), f.Measured, f.Why, f.NotRun, c.want, c.measured)
			}
		})
	}
}

func TestPortModule(t *testing.T) {
	port := About("nic.link", "module", Part{Class: ClassCable, Name: "NIC port ens1f0np0"})
	alarmed := strings.Replace(ethtoolGood, "low alarm                  : Off", "low alarm                  : On", 1)
	for _, c := range []struct{ name, before, after, want string }{
		{"good", ethtoolGood, ethtoolGood, "not_applicable"},
		{"an alarm from before the test", alarmed, ethtoolGood, "not_applicable"},
		{"an alarm during the test", ethtoolGood, alarmed, "warn"},
		{"no link", ethtoolGood, strings.Replace(alarmed, "detected: yes", "detected: no", 1), ""},
		{"no module", ethtoolGood, strings.Replace(alarmed, "Vendor PN", "Vendor XX", 1), ""},
	} {
		got := ""
		for _, f := range portModule(port, ethtoolReading(c.before), ethtoolReading(c.after), "ens1f0np0") {
			got = answerWord(f)
			if f.Serial != "MT0001" || f.Measured != "Mellanox MMA1B00-C100D" {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

const lldpGood = `{"lldp":[{"interface":[
 {"name":"ens1f0np0","via":"LLDP","chassis":[{"id":[{"type":"mac","value":"52:54:00:00:00:01"}],"name":[{"value":"leaf1"}]}],"port":[{"id":[{"type":"ifname","value":"Ethernet12/1"}],"descr":[{"value":"r12u07"}]}]},
 {"name":"ens1f1np1","via":"LLDP","chassis":[{"id":[{"type":"mac","value":"52:54:00:00:00:02"}]}],"port":[{"id":[{"type":"mac","value":"52:54:00:00:00:22"}]}]}]}]}`

func TestCabling(t *testing.T) {
	one, two := "cabling/neighbour/NIC port ens1f0np0", "cabling/neighbour/NIC port ens1f1np1"
	none := "cabling/neighbour/network adapters"
	for _, c := range []struct {
		name, text string
		want       map[string]any
	}{
		{"two ports", lldpGood, map[string]any{one: "leaf1 Ethernet12/1", two: "52:54:00:00:00:02 52:54:00:00:00:22"}},
		{"two switches on one cable", strings.Replace(lldpGood, "ens1f1np1", "ens1f0np0", 1), map[string]any{one: "leaf1 Ethernet12/1", one + ", neighbour 2": "52:54:00:00:00:02 52:54:00:00:00:22"}},
		{"nobody is heard", `{"lldp":[{}]}`, map[string]any{none: nil}},
		{"no JSON", "2026-11-30T12:00:00 [WARN/lldpctl] unable to connect to socket\n", map[string]any{none: nil}},
		{"other JSON", `{"lldp":null}`, map[string]any{none: nil}},
	} {
		found := gpuAnswers(looseHost(map[string][]byte{"before/lldp": []byte(c.text)}), gpuProfile(t, "hgx-h100-8"), cabling)
		if len(found) != len(c.want) {
			t.Errorf("%s: %+v", c.name, found)
		}
		for id, want := range c.want {
			f, ok := found[id]
			if !ok || f.Measured != want || (want == nil) != (f.NotRun != "") || f.Verdict == Pass {
				t.Errorf("%s: %s: %+v", c.name, id, f)
			}
		}
	}
}

func TestPlannedCables(t *testing.T) {
	one, two := "cabling/plan/NIC port ens1f0np0", "cabling/plan/NIC port ens1f1np1"
	plan := func(first, second string) map[string]string {
		return map[string]string{"ens1f0np0": first, "ens1f1np1": second}
	}
	crossed := strings.NewReplacer("ens1f0np0", "ens1f1np1", "ens1f1np1", "ens1f0np0").Replace(lldpGood)
	right := plan("leaf1 Ethernet12/1", "52:54:00:00:00:02")
	for _, c := range []struct {
		name, text string
		plan       map[string]string
		want       [2]string
		says       string
	}{
		{"as planned", lldpGood, right, [2]string{"pass", "pass"}, ""},
		{"written otherwise", lldpGood, plan("LEAF1.hall.example  ethernet12/1", "52:54:00:00:00:02"), [2]string{"pass", "pass"}, ""},
		{"another domain", strings.Replace(lldpGood, `"leaf1"`, `"leaf1.a"`, 1), plan("leaf1.b Ethernet12/1", "52:54:00:00:00:02"), [2]string{"fail", "pass"}, "the plan says leaf1.b Ethernet12/1"},
		{"another port", lldpGood, plan("leaf1 Ethernet12/2", "52:54:00:00:00:02"), [2]string{"fail", "pass"}, "the cable ends at leaf1 Ethernet12/1, the plan says leaf1 Ethernet12/2"},
		{"another switch whose name begins alike", lldpGood, plan("leaf12 Ethernet12/1", "52:54:00:00:00:02"), [2]string{"fail", "pass"}, ""},
		{"crossed", crossed, right, [2]string{"fail", "fail"}, "two cables are crossed"},
		{"a description is no port's name", lldpGood, plan("leaf1 r12u07", "52:54:00:00:00:02"), [2]string{"fail", "pass"}, ""},
		{"one is silent", strings.Replace(lldpGood, `"ens1f0np0"`, `"ens9"`, 1), right, [2]string{"not_run", "pass"}, ""},
		{"nobody is heard", `{"lldp":[{}]}`, right, [2]string{"not_run", "not_run"}, ""},
		{"no tool", "", right, [2]string{"not_run", "not_run"}, ""},
	} {
		rec := looseHost(map[string][]byte{"before/lldp": []byte(c.text)})
		rec.Machine.Cables = c.plan
		found := gpuAnswers(rec, gpuProfile(t, "hgx-h100-8"), cabling)
		for i, id := range []string{one, two} {
			if f, ok := found[id]; !ok || answerWord(f) != c.want[i] {
				t.Errorf("%s: %s is %q, want %s: %+v", c.name, id, answerWord(f), c.want[i], f)
			}
		}
		if !strings.Contains(found[one].Why, c.says) {
			t.Errorf("%s: %q", c.name, found[one].Why)
		}
	}
}

func FuzzEthtool(f *testing.F) {
	f.Add([]byte(ethtoolGood))
	f.Fuzz(func(t *testing.T, out []byte) {
		r, err := parseEthtool(&Evidence{Probe: "ethtool", Out: out})
		if err == nil && len(r.Ports) == 0 && !r.Complete {
			t.Error("no port, not all, and no error")
		}
	})
}

func FuzzLLDP(f *testing.F) {
	f.Add([]byte(lldpGood))
	f.Fuzz(func(t *testing.T, out []byte) {
		got, _ := parseLLDP(&Evidence{Probe: "lldp", Out: out})
		for _, n := range got {
			if n.Port == "" {
				t.Error("a neighbour of no port")
			}
		}
	})
}
