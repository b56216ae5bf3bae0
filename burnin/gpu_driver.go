package burnin

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// gpuDriver asks whether the driver answers for every GPU, in one version. A tool
// that hangs is a finding and no gap: it does so when the driver waits for a GPU.
var gpuDriver = Check{
	Name:   "gpu.driver",
	Title:  "The driver answers for every GPU and is one version throughout",
	Probes: []string{NvidiaSMI.Spec.Name, PCISysfs.Spec.Name},
	Judge:  judgeGPUDriver,
}

func driverPart() Part { return Part{Class: ClassDriver, Name: "NVIDIA driver"} }

func judgeGPUDriver(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	if none := noGPUs("gpu.driver", p); none != nil {
		return none
	}
	out := []Finding{driverAnswers(r), driverVersion(r, p)}
	out = append(out, watched(r, "gpu.driver", driverPart(), NvidiaSMI, func(l NvidiaLog) error { return l.Usable() }, p.Load.Silence)...)
	out = append(out, driverLibrary(r)...)
	out = append(out, driverMessages(r)...)
	readings := phaseReadings(r, NvidiaSMI)
	if noneUsable(readings) != nil {
		return out // answers says why
	}
	shown, open := shownGPUs(r, p, "gpu.driver")
	for _, part := range shown {
		out = append(out, gpuState(r, readings, part))
	}
	out = append(out, open...)
	out = append(out, gpuLicences(readings, shown, p)...)
	out = append(out, siblings(r, p, "vbios", func(g *NvidiaGPU) Opt[string] { return g.VBIOS })...)
	return append(out, siblings(r, p, "firmware", func(g *NvidiaGPU) Opt[string] { return g.Firmware })...)
}

// driverAnswers judges whether nvidia-smi answered at all, each time it was asked.
func driverAnswers(r *Readings) Finding {
	readings := phaseReadings(r, NvidiaSMI)
	base := About("gpu.driver", "answers", driverPart())
	if len(readings) == 0 {
		return base.Missing(fmt.Errorf("nvidia-smi: %w", ErrNotRun))
	}
	bus := onBus(r)
	worst := answersIn(base, readings[0], bus)
	for _, reading := range readings[1:] {
		worst = worseFinding(worst, answersIn(base, reading, bus))
	}
	for _, s := range nvidiaSamples(r) {
		if f := base.answersIn(s, bus); f.Verdict == Fail {
			return worseFinding(worst, f)
		}
	}
	return worst
}

// answersIn judges one sample under load by what its tool says of the whole driver:
// a failure that shows once was there. What leaves it open is no answer here.
func (f Finding) answersIn(s SampleReading[NvidiaLog], bus int) Finding {
	if s.Err != nil {
		return f
	}
	_, rc, ended := cutEndMark(s.Out)
	e := &Evidence{Ended: EndedExit}
	if ended {
		e.Exit = &rc
	}
	f = answersIn(f, Reading[NvidiaLog]{Value: s.Value, Ref: loadRef(NvidiaSMI), Evidence: e}, bus)
	if f.Verdict == Fail {
		f.Why += " under load at " + clock(s.At)
	}
	return f
}

// onBus counts the GPUs that the PCI bus shows; -1 when nothing shows the bus.
func onBus(r *Readings) int {
	n := -1
	for _, tree := range pciTrees(r) {
		n = max(n, len(tree.Value.NVIDIA()))
	}
	return n
}

func answersIn(f Finding, reading Reading[NvidiaLog], bus int) Finding {
	e := reading.Evidence
	f.Evidence = withoutBlanks([]string{reading.Ref})
	switch {
	case e != nil && e.Ended == EndedTimeout:
		f.Measured = "timeout"
		return f.Judged(Fail, fmt.Sprintf("nvidia-smi did not answer within %.0f s", e.Seconds))
	case !reading.OK():
		return f.Missing(reading.Err)
	}
	log := reading.Value
	if fail := log.Failure; fail != nil {
		f.Measured = string(fail.Kind)
		switch {
		case fail.Kind == NvidiaNoDevices && bus <= 0, !fail.Kind.Blames():
			return f.Missing(log.Usable())
		case fail.Kind == NvidiaNoDevices:
			return f.Judged(Fail, fmt.Sprintf("nvidia-smi finds no GPU, the PCI bus shows %d", bus))
		}
		return f.Judged(Fail, fail.Text)
	}
	if e != nil && e.Exit != nil && *e.Exit != 0 {
		f.Measured = float64(*e.Exit)
		if known, ok := nvidiaExits[*e.Exit]; ok {
			return f.Judged(Fail, "nvidia-smi reports that "+known.Text)
		}
		return f.Missing(fmt.Errorf("nvidia-smi ended with exit status %d", *e.Exit))
	}
	f.Measured = "answers"
	return f.Judged(Pass, "nvidia-smi answers")
}

// driverVersion judges the version where the profile has a lowest one; two
// versions in one run are a remark in any case.
func driverVersion(r *Readings, p *profiles.Profile) Finding {
	f := About("gpu.driver", "version", driverPart())
	l := p.GPU.DriverMin
	var versions []string
	for _, log := range nvidiaLogs(r) {
		f.Evidence = append(f.Evidence, log.Ref)
		if log.Value.Driver != "" && !slices.Contains(versions, log.Value.Driver) {
			versions = append(versions, log.Value.Driver)
		}
	}
	if len(versions) == 0 {
		return f.absent(errors.New("nvidia-smi shows no driver version"), l)
	}
	slices.SortFunc(versions, compareVersions)
	f.Measured = strings.Join(versions, ", ")
	if len(versions) > 1 {
		return f.Judged(Warn, "the driver changed while the machine was tested: "+strings.Join(versions, ", "))
	}
	if !l.Set() || len(l.Text) == 0 {
		return f.recorded()
	}
	f = f.against(l)
	f.Limit = l.Text[0]
	return f.decide(compareVersions(versions[0], l.Text[0]) >= 0)
}

// compareVersions compares dotted numbers: 535.54.03 is less than 535.161.08.
func compareVersions(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		if c := cmp.Compare(versionPart(x, i), versionPart(y, i)); c != 0 {
			return c
		}
	}
	return 0
}

// versionPart is part i, -1 where there is none or it is no number.
func versionPart(parts []string, i int) int {
	if i >= len(parts) {
		return -1
	}
	n, err := strconv.Atoi(parts[i])
	if err != nil {
		return -1
	}
	return n
}

// driverLibrary compares the library's version with the kernel driver's, where the
// tool tells it: NVML leaves out the last number ("590.48" of 590.48.01).
func driverLibrary(r *Readings) []Finding {
	for _, log := range nvidiaLogs(r) {
		library, driver := log.Value.Library, log.Value.Driver
		if library == "" || driver == "" {
			continue
		}
		f := About("gpu.driver", "library_version", driverPart(), log.Ref)
		f.Measured, f.Limit = library, driver
		if library == driver || strings.HasPrefix(driver, library+".") {
			return []Finding{f.Judged(Pass, "driver and library are one version")}
		}
		return []Finding{f.Judged(Fail, fmt.Sprintf("the driver is %s, the library %s", driver, library))}
	}
	return nil
}

// driverMessages reports lines beside the data that name no GPU that is known by
// another finding.
func driverMessages(r *Readings) []Finding {
	var out []Finding
	told := map[string]bool{}
	logs := nvidiaLogs(r)
	for _, s := range nvidiaSamples(r) {
		if s.Err == nil && s.Value.Failure == nil {
			logs = append(logs, Reading[NvidiaLog]{Value: NvidiaLog{Messages: damage(s.Value.Messages)}, Ref: loadRef(NvidiaSMI)})
		}
	}
	for _, log := range logs {
		for _, m := range log.Value.Messages {
			if m.Address != "" && m.Kind != NvidiaOther || m.Index >= 0 && m.Kind == NvidiaLost || told[m.Text] {
				continue
			}
			told[m.Text] = true
			f := About("gpu.driver", "messages", driverPart(), log.Ref)
			f.ID += "/" + strconv.Itoa(len(told))
			f.Measured = m.Text
			verdict := Fail
			if m.Kind == NvidiaOther {
				verdict = Warn
			}
			out = append(out, f.Judged(verdict, m.String()))
		}
	}
	return out
}

// damage leaves out the lines that may be anything.
func damage(in []NvidiaMessage) []NvidiaMessage {
	return slices.DeleteFunc(slices.Clone(in), func(m NvidiaMessage) bool { return m.Kind == NvidiaOther })
}

// gpuState judges whether the driver has control of one GPU, each time it was asked
// and in every sample under load.
func gpuState(r *Readings, readings []Reading[NvidiaLog], part gpuPart) Finding {
	base := About("gpu.driver", "state", part.Part)
	worst := worstOf(readings, base, func(f Finding, log NvidiaLog) Finding {
		if why := log.trouble(part); why != "" {
			f.Measured = "fault"
			return f.Judged(Fail, why)
		}
		if _, err := log.gpu(part); err != nil {
			return f.Missing(err)
		}
		f.Measured = "good"
		return f.Judged(Pass, "the driver has control of it")
	})
	for _, s := range nvidiaSamples(r) {
		if s.Err != nil {
			continue
		}
		if why := s.Value.trouble(part); why != "" {
			f := About("gpu.driver", "state", part.Part, loadRef(NvidiaSMI))
			f.Measured = "fault"
			return worseFinding(worst, f.Judged(Fail, why+" under load at "+clock(s.At)))
		}
	}
	return worst
}

// trouble says in what the driver has no control of a GPU, or "".
func (l *NvidiaLog) trouble(part gpuPart) string {
	if line := l.lost(part); line != "" {
		return line
	}
	for _, m := range l.Messages {
		if m.Kind == NvidiaInfoROM && m.Address != "" && m.Address == part.Address {
			return m.String()
		}
	}
	g := l.find(part)
	if g == nil {
		return ""
	}
	switch {
	case g.Lost != "":
		return "does not answer: " + g.Lost
	case len(g.Faults) > 0:
		return "does not answer: " + strings.Join(g.Faults, "; ")
	case g.RecoveryAction.Set && !strings.EqualFold(g.RecoveryAction.V, "none"):
		return "the driver asks for recovery: " + g.RecoveryAction.V
	case strings.EqualFold(g.ResetRequired.V, "yes"):
		return "the driver asks for a reset"
	case strings.EqualFold(g.DrainRecommended.V, "yes"):
		return "the driver recommends to drain and reset it"
	}
	return ""
}

// siblings compares a version among GPUs of one product: a difference is a remark.
func siblings(r *Readings, p *profiles.Profile, quantity string, of func(*NvidiaGPU) Opt[string]) []Finding {
	logs := nvidiaLogs(r)
	if len(logs) == 0 {
		return nil
	}
	last := logs[len(logs)-1]
	byProduct := map[string]map[string][]string{}
	for _, part := range gpuParts(r, p) {
		g := last.Value.find(part)
		if g == nil || !of(g).Set {
			continue
		}
		if byProduct[g.Product.V] == nil {
			byProduct[g.Product.V] = map[string][]string{}
		}
		version := of(g).V
		byProduct[g.Product.V][version] = append(byProduct[g.Product.V][version], part.Name)
	}
	var out []Finding
	for _, product := range slices.Sorted(maps.Keys(byProduct)) {
		var versions []string
		for _, version := range slices.Sorted(maps.Keys(byProduct[product])) {
			versions = append(versions, version+" ("+strings.Join(byProduct[product][version], ", ")+")")
		}
		f := About("gpu.driver", quantity, fleetPart(p), last.Ref)
		f.ID += strings.TrimSuffix("/"+product, "/")
		f.Measured = strings.Join(versions, "; ")
		if len(versions) > 1 {
			out = append(out, f.Judged(Warn, "GPUs differ in "+quantity+": "+strings.Join(versions, "; ")))
			continue
		}
		out = append(out, f.Judged(Pass, "all GPUs have one "+quantity))
	}
	return out
}
