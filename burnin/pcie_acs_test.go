package burnin

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// acsBus is a GPU behind a switch whose downstream port has an ACS control word.
func acsBus(word string) string {
	const link = "\t\tLnkSta:\tSpeed 32GT/s, Width x16\n"
	return "0000:15:01.0 PCI bridge [0604]: Root [8086:352a]\n\tBus: primary=15, secondary=16, subordinate=18, sec-latency=0\n" + link +
		"\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n\n" +
		"0000:16:00.0 PCI bridge [0604]: Switch [1000:c030]\n\tBus: primary=16, secondary=17, subordinate=18, sec-latency=0\n" + link + "\n" +
		"0000:17:00.0 PCI bridge [0604]: Switch [1000:c030]\n\tBus: primary=17, secondary=18, subordinate=18, sec-latency=0\n" + link + "\t\tACSCtl:\t" + word + "\n\n" +
		"0000:18:00.0 3D controller [0302]: NVIDIA Corporation GH100 [10de:2330]\n" + link
}

func TestPCIeACS(t *testing.T) {
	const off = "SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-"
	const redirect = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-"
	const acs, iommu = "pcie.acs/acs/GPU 0000:18:00.0", "pcie.acs/iommu/machine"
	want := profiles.PCIe{ACS: &profiles.Limit{Relation: profiles.Equal, Text: []string{"off"}}, IOMMU: &profiles.Limit{Relation: profiles.OneOf, Text: []string{"off", "pass-through"}}}
	for _, c := range []struct {
		name, lspci, os string
		limits          profiles.PCIe
		answers         map[string]string
	}{
		{"off", acsBus(off), "cmdline=quiet\niommu_groups=0\n", want, map[string]string{acs: "pass", iommu: "pass"}},
		{"source validation alone", acsBus(strings.Replace(off, "SrcValid-", "SrcValid+", 1)), "iommu_groups=0\n", want, map[string]string{acs: "pass", iommu: "pass"}},
		{"redirected", acsBus(redirect), "cmdline=quiet iommu=pt\niommu_groups=80\n", want, map[string]string{acs: "fail", iommu: "pass"}},
		{"translated", acsBus(redirect), "cmdline=quiet intel_iommu=on\niommu_groups=80\n", want, map[string]string{acs: "fail", iommu: "fail"}},
		{"recorded", acsBus(redirect), "cmdline=quiet\niommu_groups=80\n", profiles.PCIe{}, map[string]string{acs: "not_applicable", iommu: "not_applicable"}},
		{"no root", strings.ReplaceAll(acsBus(off), "LnkSta", "x"), "", want, map[string]string{acs: "not_run", iommu: "not_run"}},
		{"cut behind the GPU", acsBus(off)[:300], "cmdline=quiet\n", want, map[string]string{"pcie.acs/acs/GPUs": "not_run", iommu: "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := phases("lspci", c.lspci, "")
			rec.Evidence = append(rec.Evidence, phases("os", "kernel=6.8\n"+c.os, "").Evidence...)
			wantAnswers(t, judged(t, rec, &profiles.Profile{PCIe: c.limits}, newGPUParts, pcieACS), c.answers, true)
		})
	}
	// A listing of a real machine: all its switches have ACS off, or none.
	got := judged(t, looseHost(map[string][]byte{"lspci": corpus(t, "lspci/gpud-lspci-vvv.txt")}), &profiles.Profile{}, newGPUParts, pcieACS)
	words := map[any]int{}
	for _, f := range got {
		if f.Quantity == "acs" {
			words[f.Measured]++
		}
	}
	if words["off"] != 8 || len(words) != 1 {
		t.Errorf("eight GPUs behind switches that redirect nothing: %v", words)
	}
}
