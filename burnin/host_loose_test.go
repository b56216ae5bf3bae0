package burnin

import (
	"strings"
	"testing"
)

// A listing of one GPU behind a switch, as lspci prints it.
const gpuListing = `15:01.0 PCI bridge [0604]: Example [8086:352a] (rev 04)
	Bus: primary=15, secondary=16, subordinate=1c, sec-latency=0
		LnkSta:	Speed 32GT/s, Width x16
16:00.0 PCI bridge [0604]: Example [1000:c030] (rev b0)
	Bus: primary=16, secondary=17, subordinate=1c, sec-latency=0
		LnkSta:	Speed 32GT/s, Width x16
17:01.0 PCI bridge [0604]: Example [1000:c030] (rev b0)
	Bus: primary=17, secondary=19, subordinate=19, sec-latency=0
		LnkSta:	Speed 32GT/s, Width x16
19:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)
		LnkSta:	Speed 32GT/s, Width x16
`

func TestLooseListingOfLinks(t *testing.T) {
	const id = "/GPU 0000:19:00.0"
	gpu := gpuListing[strings.Index(gpuListing, "19:00.0"):]
	for _, c := range []struct {
		name, text string
		want       map[string]string
	}{
		{"full speed is full speed", gpuListing, map[string]string{"width": "pass", "speed": "pass", "uplink_width": "pass", "uplink_speed": "pass"}},
		{
			"slow may be idle", strings.Replace(gpuListing, gpu, strings.Replace(gpu, "Speed 32GT/s", "Speed 2.5GT/s (downgraded)", 1), 1),
			map[string]string{"width": "pass", "speed": "not_run"},
		},
		{
			"narrow is narrow", strings.Replace(gpuListing, gpu, strings.Replace(gpu, "Width x16", "Width x8 (downgraded)", 1), 1),
			map[string]string{"width": "fail", "speed": "pass"},
		},
		{
			"a narrow switch", strings.Replace(gpuListing, "subordinate=1c, sec-latency=0\n\t\tLnkSta:\tSpeed 32GT/s, Width x16\n17", "subordinate=1c, sec-latency=0\n\t\tLnkSta:\tSpeed 32GT/s, Width x8\n17", 1),
			map[string]string{"width": "pass", "uplink_width": "fail"},
		},
		{
			"the port right above shows the same link and is no hop of its own", strings.Replace(gpuListing, "subordinate=19, sec-latency=0\n\t\tLnkSta:\tSpeed 32GT/s", "subordinate=19, sec-latency=0\n\t\tLnkSta:\tSpeed 2.5GT/s", 1),
			map[string]string{"speed": "pass", "uplink_speed": "pass"},
		},
		{"without root", strings.NewReplacer("\t\tLnkSta:\tSpeed 32GT/s, Width x16\n", "\tCapabilities: <access denied>\n").Replace(gpuListing), map[string]string{"width": "not_run", "speed": "not_run", "uplink_width": "not_run"}},
		{"a virtual machine shows no port above", gpu, map[string]string{"width": "pass", "uplink_width": "not_run", "uplink_speed": "not_run"}},
		{
			"at a root port", strings.Replace(gpuListing, "secondary=19", "secondary=99", 1) + "18:00.0 PCI bridge [0604]: Example [8086:352a]\n\tBus: primary=00, secondary=19, subordinate=19\n",
			map[string]string{"width": "pass", "uplink_width": "not_applicable", "uplink_speed": "not_applicable"},
		},
		{"off the bus", strings.Replace(gpuListing, "(rev a1)", "(rev ff)", 1), map[string]string{"width": "fail", "speed": "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := map[string]string{}
			for q, answer := range c.want {
				want["pcie.link/"+q+id] = answer
			}
			found := judged(t, looseHost(map[string][]byte{"lspci": []byte(c.text)}), gpuProfile(t, "host-node"), newGPUParts, pcieLink)
			wantAnswers(t, found, want, false)
		})
	}
}

// Nothing given is nothing proven: every check leaves what the profile asks open.
func TestNoEvidence(t *testing.T) {
	for _, c := range hostChecks() {
		found := judged(t, looseHost(nil), gpuProfile(t, "host-node"), newGPUParts, c)
		if len(found) == 0 {
			t.Errorf("%s gives no answer", c.Name)
		}
		for id, f := range found {
			if a := gpuAnswer(f); a != "not_run" && a != "not_applicable" {
				t.Errorf("%s is %s without any evidence", id, a)
			}
		}
	}
}

func TestBrokenSysfsListing(t *testing.T) {
	good := pciSysfsHead + "\ndev\t0000:19:00.0\tparent=-\tclass=0x030200\tvendor=0x10de\tdevice=0x2330\tcurrent_link_width=16\n" + pciSysfsEnd + "1\n"
	if tree, err := parsePCISysfs(loose(good)); err != nil || !tree.Complete || len(tree.NVIDIA()) != 1 {
		t.Fatalf("%+v, %v", tree, err)
	}
	for name, text := range map[string]string{
		"another count":        strings.Replace(good, pciSysfsEnd+"1", pciSysfsEnd+"2", 1),
		"cut":                  good[:len(good)-5],
		"cut inside a counter": strings.Replace(good, pciSysfsEnd+"1\n", "aer\t0000:19", 1),
	} {
		if tree, err := parsePCISysfs(loose(text)); err != nil || tree.Complete {
			t.Errorf("%s: complete %v, %v", name, tree.Complete, err)
		}
	}
	for name, text := range map[string]string{
		"no head":            good[len(pciSysfsHead):],
		"a stray line":       strings.Replace(good, pciSysfsEnd, "net\t0000:20:00.0\teth0\tx\t1\t2\n"+pciSysfsEnd, 1),
		"a counter of words": strings.Replace(good, pciSysfsEnd, "aer\t0000:19:00.0\tfatal\tDLP\tmany\n"+pciSysfsEnd, 1),
	} {
		if tree, err := parsePCISysfs(loose(text)); err == nil {
			t.Errorf("%s is read as %+v", name, tree)
		}
	}
}
