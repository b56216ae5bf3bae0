package burnin

import (
	"fmt"
	"os"
	"strings"
)

// LooseRecord makes a partial record of files that somebody has sent: each
// argument is [before/|load/|after/]NAME[@INSTANCE]=FILE, "before" when no phase
// is named. How the commands ended is not known, and the record says so: it can
// show a fault but never pass a machine.
func LooseRecord(args []string) (*Record, error) {
	rec := &Record{Meta: Meta{Schema: EvidenceSchema, Machine: "loose files", Coverage: CoverPartial}}
	rec.Machine.Name = rec.Meta.Machine
	for _, arg := range args {
		e, file, err := parseLoose(arg)
		if err != nil {
			return nil, err
		}
		if rec.find(e.Phase, e.Probe, e.Instance) != nil {
			return nil, fmt.Errorf("--probe %s: %s is given twice; name the phase (before/, load/ or after/) or the instance (@…)", arg, e.Ref())
		}
		if e.Out, err = readLoose(file); err != nil {
			return nil, fmt.Errorf("--probe %s: %w", arg, err)
		}
		e.Seal()
		rec.Evidence = append(rec.Evidence, e)
	}
	return rec, nil
}

func parseLoose(arg string) (e *Evidence, file string, err error) {
	name, file, ok := strings.Cut(arg, "=")
	if !ok || file == "" {
		return nil, "", fmt.Errorf("--probe %s: want [before/|load/|after/]NAME[@INSTANCE]=FILE, for example nvidia-smi=smi.xml", arg)
	}
	e = &Evidence{Phase: PhaseBefore, Source: FromLoose, Ended: EndedUnknown}
	if phase, rest, ok := strings.Cut(name, "/"); ok {
		e.Phase, name = Phase(phase), rest
	}
	e.Probe, e.Instance, _ = strings.Cut(name, "@")
	if err := checkNames(e); err != nil {
		return nil, "", fmt.Errorf("--probe %s: %w", arg, err)
	}
	return e, file, nil
}

func readLoose(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", file, maxFile>>20)
	}
	return os.ReadFile(file)
}
