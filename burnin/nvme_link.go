package burnin

import "github.com/rackproof/rackproof/profiles"

// nvmeLink asks whether each drive's own link is as wide and fast as it must be. The
// hops above the drive are a matter of pcie.link.
var nvmeLink = Check{
	Name:   "nvme.link",
	Title:  "Each NVMe drive has its lanes and its speed",
	Probes: []string{"pci-sysfs", "lspci"},
	Judge:  judgeNVMeLink,
}

func judgeNVMeLink(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	v := viewPCIe(r)
	var out []Finding
	for _, d := range nvmeParts(r, p) {
		j := linkJudge{view: &v, part: linkPart{d.Part, d.Shown, errDriveNotShown}, class: &p.PCIe.NVMe, check: "nvme.link"}
		out = append(out, j.width(), j.speed())
	}
	if len(out) > 0 {
		return out
	}
	f := About("nvme.link", "width", drivesPart)
	if v.noTrees != nil {
		return []Finding{f.absent(v.noTrees, p.PCIe.NVMe.Width)}
	}
	return []Finding{f.NotHere("there is no NVMe drive, and the profile wants none")}
}
