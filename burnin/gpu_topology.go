package burnin

import (
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

// gpuTopology asks that every pair of GPUs is joined the way the profile says.
var gpuTopology = Check{
	Name:   "gpu.topology",
	Title:  "Every pair of GPUs is joined by all its NVLinks",
	Probes: []string{GPUTopology.Spec.Name},
	Judge:  judgeGPUTopology,
}

func judgeGPUTopology(r *Readings, p *profiles.Profile, _ *profiles.Spec) []Finding {
	const check = "gpu.topology"
	if none := noGPUs(check, p); none != nil {
		return none
	}
	want, _ := wantedGPUs(p)
	if !p.NVLink.Topology.Set() || want < 2 {
		return []Finding{About(check, "all", fleetPart(p)).NotHere("the profile prescribes no paths between GPUs")}
	}
	readings := phaseReadings(r, GPUTopology)
	if len(readings) == 0 {
		return []Finding{About(check, "all", fleetPart(p)).Missing(fmt.Errorf("gpu-topology: %w", ErrNotRun))}
	}
	parts, out := shownGPUs(r, p, check)
	bad := badPairs(readings, parts, p)
	for i, part := range parts {
		told := false // a bad pair with this GPU is reported, here or at its other end
		for _, pair := range bad {
			if pair.a == i {
				out = append(out, pair.finding)
			}
			told = told || pair.a == i || pair.b == i
		}
		if told {
			continue
		}
		out = append(out, worstOf(readings, About(check, "path", part.Part), func(f Finding, t TopologyMatrix) Finding {
			return pathsOf(f, t, parts, i, p)
		}))
	}
	return out
}

// badPair is a pair that is not joined right, told at its end a.
type badPair struct {
	a, b    int
	finding Finding
}

// badPairs finds the pairs that are not joined right in any reading. A pair is told
// once, at the end that has more of them: the GPU that lost its links, not its peers.
func badPairs(readings []Reading[TopologyMatrix], parts []gpuPart, p *profiles.Profile) []badPair {
	var out []badPair
	faults := make([]int, len(parts))
	for i := range parts {
		for j := i + 1; j < len(parts); j++ {
			cell, ref := worstCell(readings, parts[i], parts[j], p.NVLink.Topology)
			if cell == "" {
				continue
			}
			faults[i]++
			faults[j]++
			out = append(out, badPair{a: i, b: j, finding: Finding{Measured: cell, Evidence: []string{ref}}})
		}
	}
	for k := range out {
		pair := &out[k]
		if faults[pair.b] > faults[pair.a] {
			pair.a, pair.b = pair.b, pair.a
		}
		cell, _ := pair.finding.Measured.(string)
		peer := parts[pair.b].Name
		f := About("gpu.topology", "path", parts[pair.a].Part, pair.finding.Evidence...).Word(cell, p.NVLink.Topology)
		f.ID += "/" + peer
		f.Peer, f.Class = peer, ClassNVLink
		pair.finding = f.Because("the path to %s is %s, the profile wants %s", peer, cell, p.NVLink.Topology)
	}
	return out
}

// worstCell returns the first cell of a pair that is not as the limit wants, or "".
func worstCell(readings []Reading[TopologyMatrix], a, b gpuPart, l *profiles.Limit) (cell, ref string) {
	for _, reading := range readings {
		if !reading.OK() {
			continue
		}
		for _, way := range [][2]gpuPart{{a, b}, {b, a}} {
			cell, err := cellOf(reading.Value, way[0], way[1])
			if err == nil && (Finding{}).Word(cell, l).Verdict == Fail {
				return cell, reading.Ref
			}
		}
	}
	return "", ""
}

// pathsOf judges the row of one GPU that has no bad cell: it passes when every cell
// is there.
func pathsOf(f Finding, t TopologyMatrix, parts []gpuPart, i int, p *profiles.Profile) Finding {
	word := ""
	for j, other := range parts {
		if i == j {
			continue
		}
		cell, err := cellOf(t, parts[i], other)
		if err != nil {
			return f.Missing(err)
		}
		word = cell
	}
	return f.Word(word, p.NVLink.Topology)
}

func cellOf(t TopologyMatrix, a, b gpuPart) (string, error) {
	if a.Index != nil && b.Index != nil {
		if cell := t.At(*a.Index, *b.Index); cell != "" {
			return cell, nil
		}
	}
	return "", fmt.Errorf("the matrix does not show %s and %s", a.Name, b.Name)
}
