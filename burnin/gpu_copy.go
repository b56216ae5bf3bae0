package burnin

import (
	"errors"
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

const gpuCopyName = "gpu.copy" // also of the load that measures for it

// gpuCopy asks how fast every GPU copies from and to the host, and reads every other
// GPU, and whether what was copied arrived. The worst cell counts, never a mean.
var gpuCopy = Check{
	Name:   gpuCopyName,
	Title:  "Every GPU copies from and to the host, and reads its peers, as fast as it should",
	Probes: []string{NVBandwidth.Spec.Name},
	Judge:  judgeGPUCopy,
}

// copyTests are the test cases that are run and judged: those of the copy engines. The
// ones that copy by a kernel measure the GPU's processors as well (nvbandwidth issue 24).
// What is owed every GPU can do: it is open where it was not measured, though the profile
// states no rate.
var copyTests = []struct {
	name, quantity, about string
	owed                  bool
	limit                 func(*profiles.Profile) *profiles.Limit
}{
	{"host_to_device_memcpy_ce", "host_to_device", "copies from the host", true, func(p *profiles.Profile) *profiles.Limit { return p.GPU.Copy.HostToDevice }},
	{"device_to_host_memcpy_ce", "device_to_host", "copies to the host", true, func(p *profiles.Profile) *profiles.Limit { return p.GPU.Copy.DeviceToHost }},
	{peerTest, "peer", "reads a peer", false, func(p *profiles.Profile) *profiles.Limit { return p.GPU.Copy.Peer }},
	{localTest, "local", "copies within its memory", false, func(p *profiles.Profile) *profiles.Limit { return p.GPU.Copy.Local }},
}

const (
	peerTest  = "device_to_device_memcpy_read_ce"
	localTest = "device_local_copy" // not known to version 0.5, which says ERROR of it and goes on
)

func judgeGPUCopy(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = gpuCopyName
	if none := noGPUs(check, p); none != nil {
		return none
	}
	reading := Read(r, NVBandwidth, PhaseLoad)
	if !reading.OK() {
		return []Finding{About(check, "all", fleetPart(p), reading.Ref).Missing(reading.Err)}
	}
	j := copyJudge{log: &reading.Value, ref: reading.Ref, profile: p, parts: gpuParts(r, p)}
	out := []Finding{j.verified()}
	for _, test := range copyTests {
		c := copyCase{test.name, test.quantity, test.about, test.owed, test.limit(p)}
		out = append(out, j.test(&c)...)
	}
	return out
}

// copyCase is one test case with the profile's limit.
type copyCase struct {
	name, quantity, about string
	owed                  bool
	limit                 *profiles.Limit
}

// open leaves a question open that the profile asks, or that is owed anyway.
func (c *copyCase) open(f Finding, why error) Finding {
	if c.owed {
		return f.Missing(why)
	}
	return f.absent(why, c.limit)
}

// copyJudge judges one output of nvbandwidth.
type copyJudge struct {
	log     *CopyLog
	ref     string
	profile *profiles.Profile
	parts   []gpuPart
}

// verified judges whether what was copied arrived: the program compares it.
func (j *copyJudge) verified() Finding {
	f := About(gpuCopyName, "verified", fleetPart(j.profile), j.ref)
	if line := j.log.Fault(); line != "" {
		f.Measured = line
		return f.Judged(Fail, "a copy failed because of the hardware: "+line)
	}
	passed := 0
	var why error
	for i := range j.log.Tests {
		t := &j.log.Tests[i]
		unknown := t.Name == localTest && t.Status == "error" && t.Text == ""
		if err := t.Passed(); err == nil {
			passed++
		} else if why == nil && t.Status != "waived" && !unknown {
			why = err
		}
	}
	switch {
	case j.log.Error != "":
		return f.Missing(fmt.Errorf("nvbandwidth ended early: %s", j.log.Error))
	case why != nil:
		return f.Missing(why)
	case passed == 0:
		return f.Missing(errors.New("nvbandwidth ran no test"))
	}
	f.Measured = float64(passed)
	return f.Judged(Pass, fmt.Sprintf("%d tests copied and compared, no difference", passed))
}

// gpus is how many the machine should have, as far as anything tells.
func (j *copyJudge) gpus() int {
	n, _ := wantedGPUs(j.profile)
	return n
}

// test judges one test case for every GPU.
func (j *copyJudge) test(c *copyCase) []Finding {
	all := About(gpuCopyName, c.quantity, fleetPart(j.profile), j.ref)
	t := j.log.Test(c.name)
	switch {
	case c.name == peerTest && j.gpus() == 1:
		return []Finding{all.NotHere("there is one GPU only")}
	case t == nil:
		return []Finding{c.open(all, fmt.Errorf("nvbandwidth did not run %s", c.name))}
	case t.Passed() != nil:
		return []Finding{c.open(all, t.Passed())}
	}
	m, err := newCopyMatrix(t, c.name == peerTest, c.limit)
	if err != nil {
		return []Finding{c.open(all, err)}
	}
	var out []Finding
	for gpu := range m.gpus {
		out = append(out, j.gpu(m, gpu, c))
	}
	out = withSiblings(out, j.profile.GPU.Siblings)
	for gpu := m.gpus; gpu < j.gpus(); gpu++ {
		out = append(out, c.open(About(gpuCopyName, c.quantity, j.part(gpu), j.ref), errors.New("nvbandwidth does not list this GPU")))
	}
	return out
}

// part is the GPU with a number of nvbandwidth.
func (j *copyJudge) part(gpu int) Part {
	address := ""
	for _, d := range j.log.Devices {
		if d.Index == gpu {
			address = d.Address
		}
	}
	return toolGPU(j.parts, NVBandwidth.Spec.Name, address, "", gpu)
}

// gpu judges the worst figure of one GPU.
func (j *copyJudge) gpu(m *copyMatrix, gpu int, c *copyCase) Finding {
	f := About(gpuCopyName, c.quantity, j.part(gpu), j.ref)
	worst, peer, err := m.worst(gpu)
	if err != nil {
		return c.open(f, err)
	}
	f.Samples = statsOf(m.of(gpu))
	f = f.Number(worst, profiles.GBPerSecond, c.limit)
	if peer >= 0 {
		f.Peer = j.part(peer).Name
	}
	if f.Verdict == Fail {
		with := ""
		if f.Peer != "" {
			with = " (" + f.Peer + ")"
		}
		f = f.Because("%s%s at %.4g GB/s, the profile wants %s", c.about, with, worst, c.limit)
	}
	return f
}
