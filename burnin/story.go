package burnin

import (
	"slices"
	"strings"
)

// Stories groups findings that tell of one part, in the order given: an XID of the
// kernel's log, a link that is gone and an entry of the BMC's log are one story where they
// share the part's name, its serial or its PCI address, or where one is about the port
// that only this part hangs on. Whoever reads them then replaces one part, not three.
func Stories(fs []Finding) [][]Finding {
	of := make([]int, len(fs)) // the story of each finding, by its first finding
	first := map[string]int{}
	for i := range fs {
		of[i] = i
		for _, key := range storyKeys(fs[i]) {
			j, known := first[key]
			if !known {
				first[key] = i
				continue
			}
			from, into := max(of[i], of[j]), min(of[i], of[j])
			for k := range of[:i+1] {
				if of[k] == from {
					of[k] = into
				}
			}
		}
	}
	var out [][]Finding
	at := map[int]int{}
	for i, f := range fs {
		n, known := at[of[i]]
		if !known {
			n = len(out)
			at[of[i]] = n
			out = append(out, nil)
		}
		out[n] = append(out[n], f)
	}
	return out
}

// storyKeys are by what a finding is joined with others. What is said of all parts of a
// kind, or of the machine, is joined by its name only.
func storyKeys(f Finding) []string {
	keys := []string{"part " + f.Part}
	if f.Address != "" {
		keys = append(keys, "address "+f.Address)
	}
	if f.Serial != "" {
		keys = append(keys, "serial "+f.Serial)
	}
	if f.Peer != "" && strings.HasPrefix(f.Check, "pcie.") { // of an NVLink it is another GPU
		keys = append(keys, "part "+f.Peer)
	}
	return keys
}

// excuses are what a GPU or its links may fail of that is neither, and the checks that exclude it.
var excuses = []struct {
	what, check string
	own         bool   // the check answers for each GPU
	proof       string // the quantity that was seen good
}{
	{"heat", "gpu.thermal", true, "hw_thermal_slowdown"},
	{"power", "gpu.power", true, "hw_power_brake_slowdown"},
	{"driver mismatch", "gpu.driver", false, "library_version"},
}

// Excluded names what is known not to be the cause of a story about a GPU or its links, each with the
// check that says so: "heat (gpu.thermal)". What was not measured excludes nothing.
func (j *Judgement) Excluded(story []Finding) []string {
	if len(story) == 0 || !slices.ContainsFunc(story, func(f Finding) bool { return isGPU(f.Class) || f.Class == ClassNVLink }) {
		return nil
	}
	var out []string
	for _, e := range excuses {
		mine := func(f Finding) bool {
			return f.Check == e.check && (!e.own || slices.ContainsFunc(story, func(s Finding) bool { return s.Part == f.Part }))
		}
		proven := slices.ContainsFunc(j.Findings, func(f Finding) bool { return mine(f) && f.Quantity == e.proof && f.Verdict == Pass })
		bad := slices.ContainsFunc(j.Findings, func(f Finding) bool { return mine(f) && f.Verdict >= Warn && f.Check != story[0].Check })
		accused := slices.ContainsFunc(story, func(f Finding) bool { return f.Check == e.check })
		if proven && !bad && !accused {
			out = append(out, e.what+" ("+e.check+")")
		}
	}
	return out
}
