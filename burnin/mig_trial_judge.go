package burnin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// migTrials judges the trial of the profile's layout: whether every GPU had the instances,
// whether CUDA worked on each, and how it was left.
func migTrials(r *Readings, p *profiles.Profile) []Finding {
	if p.GPU.MIGLeave == "" {
		return nil
	}
	log := Read(r, MIGTrial, PhaseAfter)
	all := About("gpu.mig", "trial", fleetPart(p), log.Ref)
	want, err := migWanted(p)
	switch {
	case err != nil:
		return []Finding{all.Missing(err)}
	case log.Evidence == nil:
		return []Finding{all.Missing(errors.New("the layout was not tried: nobody has agreed that GPUs are cut into instances (--mig-test, mig_test: true), or the machine was not loaded"))}
	case !log.OK():
		return []Finding{all.Missing(log.Err)}
	case log.Value.Refused != "":
		return []Finding{all.Missing(errors.New(log.Value.Refused))}
	}
	parts := gpuParts(r, p)
	if len(parts) == 0 {
		return []Finding{all.Missing(errors.New("no evidence shows a GPU"))}
	}
	var out []Finding
	for _, part := range parts {
		j := migJudge{log: &log.Value, ref: log.Ref, part: part, want: want, profile: p}
		out = append(out, withClass([]Finding{j.instances(), j.cuda(), j.left()}, ClassSetting)...)
	}
	return out
}

// migJudge judges the trial on one GPU.
type migJudge struct {
	log     *MIGTrialLog
	ref     string
	part    gpuPart
	want    []string
	profile *profiles.Profile
}

func (j *migJudge) about(quantity string) Finding {
	return About("gpu.mig", quantity, j.part.Part, j.ref)
}

func (j *migJudge) step(name string) *MIGStep { return j.log.step(j.part.UUID, name) }

// open says why nothing is known of the layout on this GPU; nil = it was tried.
func (j *migJudge) open() error {
	switch list := j.step("list"); {
	case j.part.UUID == "":
		return errors.New("no evidence shows the UUID of this GPU")
	case j.step("mode-1") == nil && j.log.Cut != "":
		return errors.New("the trial was ended before this GPU: " + j.log.Cut)
	case j.step("mode-1") == nil:
		return errors.New("the trial does not show this GPU")
	case list == nil && j.step("create") == nil:
		return fmt.Errorf("MIG could not be switched on%s%s", j.step("mode-1").said(), j.heldBy())
	case list == nil:
		return errors.New("the trial ended before the instances were listed: " + firstWord(j.log.Cut, "its log is cut"))
	case !list.ok():
		return fmt.Errorf("nvidia-smi -L ended with %d%s", list.Exit.V, list.said())
	}
	return nil
}

// heldBy names what has the GPU's device files open, and what to do about it.
func (j *migJudge) heldBy() string {
	var names []string
	for _, h := range j.log.Holders {
		if h.GPU == j.part.UUID && !slices.Contains(names, h.String()) {
			names = append(names, h.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; held by " + strings.Join(names, ", ") + ": stop it (systemctl stop nvsm dcgm nvidia-dcgm nvidia-persistenced, rmmod nvidia_drm), then run again"
}

// refusals are what the driver says of a person or a program in the way; the GPU is not at fault.
var refusals = []string{"In use by another client", "Insufficient Permissions", "No permission"}

func (j *migJudge) instances() Finding {
	f := j.about("instances")
	if err := j.open(); err != nil {
		return f.Missing(err)
	}
	g, ok := j.step("list").instances(j.part.UUID)
	if !ok {
		return f.Missing(errors.New("nvidia-smi -L does not list this GPU while MIG is on"))
	}
	limit := *j.profile.GPU.MIGLayout
	limit.Text = []string{migLayout(j.profile.GPU.MIGLayout.Text[0])}
	f = f.Word(g.Layout(), &limit)
	if f.Verdict != Fail {
		return f
	}
	create := j.step("create")
	for _, word := range refusals {
		if create != nil && strings.Contains(create.Out, word) {
			return f.Missing(fmt.Errorf("the instances could not be made: %s%s", word, j.heldBy()))
		}
	}
	return f.Because("has the instances %s when %s were made%s", g.Layout(), limit.Text[0], create.trouble())
}

// trouble is the line by which a creation failed.
func (s *MIGStep) trouble() string {
	if s != nil {
		for line := range strings.Lines(s.Out) {
			if strings.HasPrefix(line, "Unable") || strings.HasPrefix(line, "Failed") {
				return ": " + strings.TrimSpace(line)
			}
		}
	}
	return ""
}

// cuda judges whether CUDA works on each instance, by nvbandwidth, which is shown one
// alone and must name it, and copy within its memory.
func (j *migJudge) cuda() Finding {
	f := j.about("cuda")
	if err := j.open(); err != nil {
		return f.Missing(err)
	}
	proven, why := 0, error(nil)
	for i := range j.log.Steps {
		s := &j.log.Steps[i]
		if s.GPU != j.part.UUID || !strings.HasPrefix(s.Name, "cuda@") {
			continue
		}
		if fault, err := s.proves(j.part.Address, j.want); fault != "" {
			return f.Judged(Fail, s.Name[len("cuda@"):]+": "+fault)
		} else if err != nil {
			why = fmt.Errorf("%s: %w", s.Name[len("cuda@"):], err)
			continue
		}
		proven++
	}
	f.Measured, f.Limit, f.Relation = float64(proven), float64(len(j.want)), string(profiles.Equal)
	switch {
	case why != nil:
		return f.Missing(fmt.Errorf("%d of %d instances are proven: %w", proven, len(j.want), why))
	case proven == 0:
		return f.Missing(errors.New("no instance was used by CUDA: " + notThere("nvbandwidth") + ", or no instance was there"))
	case proven != len(j.want):
		return f.Missing(fmt.Errorf("%d of %d instances are proven", proven, len(j.want)))
	}
	return f.Judged(Pass, fmt.Sprintf("CUDA copied within each of %d instances", proven))
}

// proves reports whether nvbandwidth saw one device, named it as an instance of the layout,
// and copied on it. fault is a line by which the hardware is at fault.
func (s *MIGStep) proves(address string, want []string) (fault string, err error) {
	if !s.Exit.Set {
		return "", errors.New("the log is cut")
	}
	log, err := parseNVBandwidth(&Evidence{Out: []byte(s.Out), Ended: EndedUnknown})
	if fault := log.Fault(); fault != "" {
		return fault, nil
	}
	test := log.Test(localTest)
	named := slices.ContainsFunc(want, func(w string) bool { return strings.Contains(s.Out, " MIG "+w+" (") })
	switch {
	case err != nil:
		return "", err
	case !s.ok():
		return "", fmt.Errorf("nvbandwidth ended with %d%s", s.Exit.V, firstLine([]byte(log.Error)))
	case len(log.Devices) != 1 || !named:
		return "", errors.New("nvbandwidth does not show it as its one device")
	case address != "" && log.Devices[0].Address != address:
		return "", fmt.Errorf("nvbandwidth shows an instance of %s", log.Devices[0].Address)
	case test == nil:
		return "", errors.New("nvbandwidth shows no copy within its memory")
	case test.Passed() != nil:
		return "", test.Passed()
	case len(test.Cells) != 1 || len(test.Cells[0]) != 1 || !test.Cells[0][0].Set || test.Cells[0][0].V <= 0:
		return "", errors.New("nvbandwidth shows no rate of its copy")
	}
	return "", nil
}

// left judges how the GPU was left, by a reading behind all else.
func (j *migJudge) left() Finding {
	f := j.about("left")
	modes := j.log.step("", "after-modes")
	list := j.log.step("", "after-list")
	if !j.log.Complete || !modes.ok() {
		return f.Missing(errors.New("the trial does not say how it left this GPU. Look with nvidia-smi -L; " + j.undo()))
	}
	mode, ok := modes.modeOf(j.part.UUID)
	g, listed := list.instances(j.part.UUID)
	if !ok || !listed {
		return f.Missing(errors.New("the reading behind the trial does not show this GPU. Look with nvidia-smi -L; " + j.undo()))
	}
	f.Measured = mode + ", instances " + g.Layout()
	want, why := "Disabled, instances none", "was not put back as it was found: "
	if j.profile.GPU.MIGLeave == profiles.MIGLeft {
		want, why = "Enabled, instances "+migLayout(j.profile.GPU.MIGLayout.Text[0]), "was not left with the layout: "
	}
	f.Limit, f.Relation = want, string(profiles.Equal)
	if f.Measured != want {
		return f.Judged(Fail, fmt.Sprintf("%sMIG is %s%s. %s", why, f.Measured, j.heldBy(), j.undo()))
	}
	return f.Judged(Pass, "MIG is "+want)
}

// undo is what a person types to have the GPU as it was found.
func (j *migJudge) undo() string {
	id := firstWord(j.part.UUID, "GPU")
	return fmt.Sprintf("to put it back type: nvidia-smi mig -i %[1]s -dci; nvidia-smi mig -i %[1]s -dgi; nvidia-smi -i %[1]s -mig 0; nvidia-smi --gpu-reset -i %[1]s", id)
}

// modeOf is MIG's mode of a GPU; both where it is to change with the next reset.
func (s *MIGStep) modeOf(gpu string) (mode string, ok bool) {
	for line := range strings.Lines(s.Out) {
		f := strings.Split(strings.TrimSpace(line), ", ")
		if len(f) != 5 || f[1] != gpu {
			continue
		}
		for _, word := range f[3:] {
			if word != "Enabled" && word != "Disabled" {
				return "", false
			}
		}
		if f[3] != f[4] {
			return f[3] + " (" + f[4] + " after the next reset)", true
		}
		return f[3], true
	}
	return "", false
}
