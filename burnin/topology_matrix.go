package burnin

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// GPUTopology is the matrix of paths between GPUs (and NICs) of nvidia-smi topo -m.
var GPUTopology = Probe[TopologyMatrix]{
	Spec: ProbeSpec{
		Name: "gpu-topology",
		Command: func(p *profiles.Profile) string {
			if p != nil && !p.NVLink.Topology.Set() {
				return ""
			}
			return "nvidia-smi topo -m"
		},
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Family:   "nvidia-smi",
		Tool:     "nvidia-smi",
		Deadline: time.Minute,
	},
	Parse: parseGPUTopology,
}

// TopologyMatrix is the part of the matrix that is about GPUs, by nvidia-smi's
// numbers. A cell is NV18, PIX, PXB, PHB, NODE or SYS.
type TopologyMatrix struct {
	GPUs  []int
	Cells map[[2]int]string
}

// At returns the cell of two GPUs, or "" when the matrix does not hold it.
func (t *TopologyMatrix) At(a, b int) string { return t.Cells[[2]int{a, b}] }

var (
	ansiCode     = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)
	topologyCell = regexp.MustCompile(`^(X|SYS|NODE|PHB|PXB|PIX|PSB|C2C|NV\d{1,3})$`)
)

// parseGPUTopology reads the matrix by the names in its head: NICs stand among the
// columns, and a narrow terminal wraps head and rows.
func parseGPUTopology(e *Evidence) (TopologyMatrix, error) {
	body, _ := e.Body()
	t := TopologyMatrix{Cells: map[[2]int]string{}}
	var columns []string
	row, column := -1, 0
	for line := range strings.Lines(ansiCode.ReplaceAllString(string(body), "")) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			row = -1
			continue
		}
		if strings.HasPrefix(fields[0], "Legend") {
			break
		}
		switch {
		case len(fields) > 1 && topologyCell.MatchString(fields[1]) && !topologyCell.MatchString(fields[0]):
			row, column = topologyNumber(fields[0]), 0
			if row >= 0 {
				t.GPUs = append(t.GPUs, row)
			}
			column = t.fill(row, column, columns, fields[1:])
		case row >= 0 && topologyCell.MatchString(fields[0]):
			column = t.fill(row, column, columns, fields)
		case len(t.GPUs) == 0:
			columns = append(columns, topologyHead(fields)...)
		}
	}
	if len(t.GPUs) == 0 {
		return t, noNVLinkAnswer("topo -m", body, e)
	}
	return t, nil
}

// topologyHead returns the names of columns up to "CPU Affinity".
func topologyHead(fields []string) []string {
	for i, f := range fields {
		if f == "CPU" {
			return fields[:i]
		}
	}
	return fields
}

// fill puts cells of a row under the columns that begin at column.
func (t *TopologyMatrix) fill(row, column int, columns, cells []string) int {
	for _, cell := range cells {
		if column >= len(columns) || !topologyCell.MatchString(cell) {
			break
		}
		if other := topologyNumber(columns[column]); row >= 0 && other >= 0 {
			t.Cells[[2]int{row, other}] = cell
		}
		column++
	}
	return column
}

// topologyNumber is the number in "GPU3", or -1.
func topologyNumber(name string) int {
	digits, ok := strings.CutPrefix(name, "GPU")
	if !ok || len(digits) > 4 || strings.Trim(digits, "0123456789") != "" {
		return -1
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}
