package provision

import (
	"fmt"
	"slices"
	"time"
)

// Steps lists what a workflow may be made of, in the one order that all keep: what
// changes the machine stands before what measures it, and what puts it back behind.
// Steps before boot speak with the BMC alone.
func Steps() []StepInfo {
	return []StepInfo{
		{Step: preflight{}, Timeout: 5 * time.Minute, Tries: 2, Gentle: true, About: "asks whether it can be done at all"},
		{Step: verifyBMC{}, Timeout: 15 * time.Minute, Tries: 3, Gentle: true, About: "makes sure that it is the machine that the batch means"},
		{Step: credentials{}, KeepBMC: true, Timeout: 15 * time.Minute, Tries: 2, Takes: 5 * time.Minute, Canary: true, Planned: true, Needs: proven, About: "gives the BMC its new password, where the batch states one"},
		{Step: locate{}, Timeout: 10 * time.Minute, Tries: 2, Gentle: true, Needs: proven, Anywhere: true, About: "lights the locator LED"},
		{Step: hands{}, Timeout: 10 * time.Minute, Tries: 1, Gentle: true, Needs: proven, Anywhere: true, About: "waits until a person says done to what it says"},
		{Step: locateOff{}, Timeout: 10 * time.Minute, Tries: 2, Gentle: true, Needs: []string{"verify-bmc", "locate"}, Anywhere: true, About: "puts the locator LED back as it was found"},
		{Step: raid{}, Timeout: 15 * time.Minute, Tries: 2, Gentle: true, Needs: proven, About: "compares the RAID volumes with those of the batch, and changes none"},
		{Step: bmcNetwork{}, KeepBMC: true, Timeout: 45 * time.Minute, Tries: 2, Takes: 15 * time.Minute, Canary: true, Planned: true, Needs: proven, About: "sets the BMC's own network, where the batch asks for it"},
		{Step: firmwareUpdate{}, KeepBMC: true, Timeout: 3 * time.Hour, Tries: 1, Canary: true, Planned: true, Needs: proven, About: "updates firmware, where the batch asks for it"},
		{Step: secureBoot{}, Timeout: 45 * time.Minute, Tries: 2, Takes: usualReboot, Canary: true, Planned: true, Needs: proven, About: "switches secure boot on or off for the test"},
		{Step: biosSettings{}, Timeout: 45 * time.Minute, Tries: 2, Takes: usualReboot, Canary: true, Planned: true, Needs: proven, About: "sets the BIOS for the test"},
		{Step: boot{}, Timeout: 30 * time.Minute, Tries: 2, Takes: usualReboot, Needs: proven, About: "starts the live image, or the installed system"},
		{Step: waitSSH{}, Timeout: 30 * time.Minute, Tries: 2, Gentle: true, Needs: []string{"verify-bmc", "boot"}, About: "waits for the host, and makes sure that it is this machine"},
		{Step: burnIn{}, Timeout: 14 * 24 * time.Hour, Tries: 3, Loads: true, Planned: true, Needs: []string{"verify-bmc", "wait-ssh"}, About: "measures it, idle and under load"},
		{Step: rebootCycle{}, Timeout: 3 * 24 * time.Hour, Tries: 3, Needs: []string{"verify-bmc", "burn-in"}, About: "restarts it, where spec or batch asks for it"},
		{Step: wipeDisks{}, KeepBMC: true, Timeout: 5 * 24 * time.Hour, Tries: 2, Canary: true, Planned: true, Needs: []string{"verify-bmc", "wait-ssh"}, About: "erases the disks that the batch names, and proves it"},
		{Step: restoreBIOS{}, Timeout: 45 * time.Minute, Tries: 2, Takes: usualReboot, Canary: true, Needs: proven, About: "gives the BIOS its delivery settings, or what was found"},
		{Step: leaveImage{}, Timeout: 30 * time.Minute, Tries: 2, Takes: 5 * time.Minute, Needs: proven, About: "switches a host off that runs an image of ours"},
		{Step: handover{}, Timeout: 45 * time.Minute, Tries: 2, Takes: usualReboot, Canary: true, Needs: proven, About: "does what restore-bios and leave-image do, with one restart; not where it failed"},
		{Step: powerAsFound{}, Timeout: 30 * time.Minute, Tries: 2, Takes: usualReboot, Needs: proven, About: "switches the host on or off as it was found"},
		{Step: powerOff{}, Timeout: 30 * time.Minute, Tries: 2, Takes: 5 * time.Minute, Needs: proven, About: "switches the host off, however it was found"},
		{Step: report{}, Timeout: 10 * time.Minute, Tries: 2, Always: true, About: "judges, and writes the record"},
	}
}

// proven is what every step needs that changes or loads a machine: nothing acts on
// the wrong one.
var proven = []string{"verify-bmc"}

// Workflows lists what rackproof can carry out by name. A batch may have one of its own.
func Workflows() []Workflow {
	return []Workflow{
		Qualify(),
		named("provision", "firmware and delivery settings, and the proof that it starts; no burn-in",
			"preflight", "verify-bmc", "credentials", "raid", "bmc-network", "firmware", "boot", "wait-ssh", "handover", "report"),
		named("burnin", "burn-in of a host that is up or is booted; no setting is changed",
			"preflight", "verify-bmc", "boot", "wait-ssh", "burn-in", "leave-image", "report"),
		named("retest", "after a repair: all but firmware and the BMC's own settings",
			"preflight", "verify-bmc", "bios", "boot", "wait-ssh", "burn-in", "reboot-cycle", "handover", "report"),
		named("wipe", "erases the disks that the batch names, and switches it off",
			"preflight", "verify-bmc", "boot", "wait-ssh", "wipe", "power-off", "report"),
		named("handover", "back as it was found: BIOS and power",
			"preflight", "verify-bmc", "restore-bios", "power-as-found", "report"),
	}
}

// Qualify takes a machine from its BMC to a test record.
func Qualify() Workflow {
	return named("qualify", "from its BMC to a test record",
		"preflight", "verify-bmc", "credentials", "raid", "bmc-network", "firmware", "bios", "boot", "wait-ssh", "burn-in", "reboot-cycle", "handover", "report")
}

// named makes a workflow of steps that there are.
func named(name, about string, steps ...string) Workflow {
	w, all := Workflow{Name: name, About: about}, Workflow{Steps: Steps()}
	for _, step := range steps {
		info, ok := all.Find(step)
		if !ok {
			panic(fmt.Sprintf("workflow %s: there is no step %s", name, step))
		}
		w.Steps = append(w.Steps, info)
	}
	return w
}

// Flow is the workflow of the batch, its own or the one that it names.
func (b *Batch) Flow() (Workflow, error) {
	if b.Own != nil {
		return b.Own.workflow()
	}
	all := Workflows()
	i := slices.IndexFunc(all, func(w Workflow) bool { return w.Name == or(b.Workflow, defaultWorkflow) })
	if i < 0 {
		return Workflow{}, fmt.Errorf("there is no workflow %q", b.Workflow)
	}
	return all[i].withTries(b.Limits.Tries), nil
}

// withTries gives the steps that may be tried again so many tries; 0 leaves them.
func (w Workflow) withTries(n int) Workflow {
	for i := range w.Steps {
		if n > 0 && w.Steps[i].Tries > 1 {
			w.Steps[i].Tries = n
		}
	}
	return w
}

// workflow gives the steps of a plan their code.
func (p Plan) workflow() (Workflow, error) {
	w, all := Workflow{Name: p.Name}, Workflow{Steps: Steps()}
	for _, s := range p.Steps {
		info, ok := all.Find(s.Name)
		if !ok {
			return w, fmt.Errorf("workflow %s: there is no step %s", p.Name, s.Name)
		}
		info.Timeout, info.Tries, info.Backoff, info.When, info.With = s.Timeout, s.Tries, s.Backoff, s.When, s.With
		w.Steps = append(w.Steps, info)
	}
	return w, nil
}

// Names are the names of its steps, in order.
func (w Workflow) Names() []string {
	names := make([]string, 0, len(w.Steps))
	for _, s := range w.Steps {
		names = append(names, s.Step.Name())
	}
	return names
}

// Loads reports whether a step of it draws full power.
func (w Workflow) Loads() bool {
	return slices.ContainsFunc(w.Steps, func(s StepInfo) bool { return s.Loads })
}
