package burnin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// ibPage is what the probe prints of some ports: "active 400", "polling 10".
func ibPage(ports ...string) string {
	var b strings.Builder
	b.WriteString(ibStatusHead + "\n")
	for i, p := range ports {
		var word string
		var rate, downs int
		if _, err := fmt.Sscanf(p, "%s %d %d", &word, &rate, &downs); err != nil {
			panic(err)
		}
		state := map[string]string{"active": "4: ACTIVE\tphys_state=5: LinkUp", "polling": "1: DOWN\tphys_state=2: Polling", "ethernet": "4: ACTIVE\tphys_state=5: LinkUp"}[word]
		layer := "InfiniBand"
		if word == "ethernet" {
			layer = "Ethernet"
		}
		fmt.Fprintf(&b, "port\tmlx5_%d\t1\tpci=0000:1a:00.%d\tstate=%s\trate=%d Gb/sec (4X X)\tlink_layer=%s\tsymbol_error=0\tlink_downed=%d\n", i, i, state, rate, layer, downs)
	}
	fmt.Fprintf(&b, "%s%d\n", ibStatusEnd, len(ports))
	return b.String()
}

// phases is a record of one probe before and after a load.
func phases(probe, before, after string) *Record {
	zero := 0
	rec := &Record{Meta: Meta{Coverage: CoverHost}}
	for phase, out := range map[Phase]string{PhaseBefore: before, PhaseAfter: after} {
		if out != "" {
			rec.Evidence = append(rec.Evidence, &Evidence{Probe: probe, Phase: phase, Source: FromSSH, Ended: EndedExit, Exit: &zero, Out: []byte(out + "\n" + endMark + "0\n")})
		}
	}
	return rec
}

func ratedLimit(r profiles.Relation, v float64, u profiles.Unit) *profiles.Limit {
	return &profiles.Limit{Relation: r, Value: profiles.Quantity{Value: v, Unit: u}, Provenance: profiles.FromAgreed, Source: "the test"}
}

func TestIBLink(t *testing.T) {
	const ports, port = "ib.link/ports/InfiniBand ports", "/InfiniBand port mlx5_1"
	two := profiles.IB{Ports: countLimit(profiles.Min, 2), Rate: ratedLimit(profiles.Min, 400, profiles.GbPerSecond), LinkDowned: countLimit(profiles.Max, 0)}
	good := ibPage("active 400 3", "active 400 0")
	for _, c := range []struct {
		name          string
		before, after string
		want          profiles.IB
		answers       map[string]string
	}{
		{"good", good, good, two, map[string]string{ports: "pass", "ib.link/state" + port: "pass", "ib.link/rate" + port: "pass", "ib.link/link_downed" + port: "pass"}},
		{
			"a third one for storage, slower, and a fourth without a cable", ibPage("active 400 0", "active 400 0", "active 200 0", "polling 10 0"), "", two,
			map[string]string{ports: "pass", "ib.link/rate/InfiniBand port mlx5_2": "not_applicable", "ib.link/state/InfiniBand port mlx5_3": "not_applicable"},
		},
		{"polling", ibPage("active 400 0", "polling 10 0"), "", two, map[string]string{ports: "fail", "ib.link/state" + port: "fail"}},
		{"went down under load", good, ibPage("active 400 3", "polling 10 1"), two, map[string]string{ports: "fail", "ib.link/state" + port: "fail", "ib.link/link_downed" + port: "fail"}},
		{"lost for a moment", good, ibPage("active 400 3", "active 400 1"), two, map[string]string{ports: "pass", "ib.link/link_downed" + port: "fail"}},
		{"slow", ibPage("active 400 0", "active 200 0"), "", two, map[string]string{ports: "fail", "ib.link/rate" + port: "fail"}},
		{
			"a slow one beside one that is down", ibPage("active 400 0", "active 200 0", "polling 10 0"), "", two,
			map[string]string{ports: "fail", "ib.link/rate" + port: "not_applicable", "ib.link/state/InfiniBand port mlx5_2": "fail"},
		},
		{"Ethernet where InfiniBand was ordered", ibPage("active 400 0", "ethernet 400 0"), "", two, map[string]string{ports: "fail"}},
		{"no driver", ibPage(), "", two, map[string]string{ports: "not_run"}},
		{"cut", strings.Split(ibPage("active 400 0", "polling 10 0"), ibStatusEnd)[0], "", two, map[string]string{ports: "not_run", "ib.link/state" + port: "not_run"}},
		{"one of them gone", good, ibPage("active 400 3"), two, map[string]string{ports: "fail", "ib.link/state" + port: "fail"}},
		{"nothing", "", "", two, map[string]string{ports: "not_run"}},
		{"not in the profile", good, good, profiles.IB{}, map[string]string{ports: "not_applicable", "ib.link/state" + port: "not_applicable", "ib.link/rate" + port: "not_applicable"}},
		{"none, and none wanted", ibPage(), ibPage(), profiles.IB{}, map[string]string{ports: "not_applicable"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantAnswers(t, judged(t, phases("ib-status", c.before, c.after), &profiles.Profile{IB: c.want}, newGPUParts, ibLink), c.answers, true)
		})
	}
}

func TestIBLinkOfText(t *testing.T) {
	hdr := profiles.IB{Ports: countLimit(profiles.Min, 1), Rate: ratedLimit(profiles.Min, 200, profiles.GbPerSecond)}
	for _, c := range []struct {
		name, out string
		answers   map[string]string
	}{
		{
			"a panic behind good ports", "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tLink layer: InfiniBand\nibpanic: [421] main: stat of IB device 'mlx5_7' failed: No such device\n",
			map[string]string{"ib.link/readable/InfiniBand ports": "fail", "ib.link/ports/InfiniBand ports": "pass"},
		},
		{"only a panic", "ibpanic: [421] main: can't get list of IB devices\n", map[string]string{"ib.link/readable/InfiniBand ports": "fail", "ib.link/ports/InfiniBand ports": "not_run"}},
		{"something else", "hello\n", map[string]string{"ib.link/ports/InfiniBand ports": "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judged(t, looseHost(map[string][]byte{"ib-status": []byte(c.out)}), &profiles.Profile{IB: hdr}, newGPUParts, ibLink)
			wantAnswers(t, got, c.answers, true)
		})
	}
	for file, answers := range map[string]map[string]string{
		"ib/gpud-pr482-polling-down.txt": {"ib.link/ports/InfiniBand ports": "not_run", "ib.link/state/InfiniBand port mlx5_10": "fail"},
		"ib/azhpc-diag-ibstatus.out":     {"ib.link/ports/InfiniBand ports": "pass", "ib.link/rate/InfiniBand port mlx5_ib0": "pass"},
		"ib/ibv_devinfo-cx7-eth.txt":     {"ib.link/ports/InfiniBand ports": "not_run"},
	} {
		t.Run(file, func(t *testing.T) {
			got := judged(t, looseHost(map[string][]byte{"ib-status": corpus(t, file)}), &profiles.Profile{IB: hdr}, newGPUParts, ibLink)
			wantAnswers(t, got, answers, true)
		})
	}
}

// The script reads a /sys of the test, in every shell of this host.
func TestIBStatusScript(t *testing.T) {
	const port = "class/infiniband/mlx5_0/ports/1/"
	root := fakeSys(t, map[string]string{
		"devices/0000:1a:00.0/vendor": "0x15b3\n", port + "state": "4: ACTIVE\n", port + "phys_state": "5: LinkUp\n", port + "rate": "400 Gb/sec (4X NDR)\n",
		port + "link_layer": "InfiniBand\n", port + "counters/link_downed": "2\n", "class/infiniband/mlx5_1/ports/1/state": "1: DOWN\n",
	}, map[string]string{"class/infiniband/mlx5_0/device": "devices/0000:1a:00.0"})
	for _, shell := range shells() {
		r, err := parseIBStatus(runHere(t, shell, strings.ReplaceAll(ibStatusScript, "/sys/", root+"/")))
		if err != nil || !r.Complete || len(r.Ports) != 2 {
			t.Fatalf("%s: %+v, %v", shell, r, err)
		}
		if p := r.Ports[0]; !p.Active() || !p.InfiniBand() || p.Rate.V != 400 || p.Address != "0000:1a:00.0" || p.Counters["link_downed"].V != 2 {
			t.Errorf("%s: %+v", shell, p)
		}
		if p := r.Ports[1]; p.State != "down" || p.Rate.Set {
			t.Errorf("%s: %+v", shell, p)
		}
	}
}

func FuzzIBStatus(f *testing.F) {
	fuzzParser(f, "ib-status", ibPage("active 400 0", "polling 10 1"), "CA 'mlx5_0'\nPort 1:\nState: Active\nRate: 1e9\n", "hca_id: x\nport: 9\nstate: PORT_ (1)\n")
}
