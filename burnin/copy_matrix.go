package burnin

import (
	"fmt"
	"math"

	"github.com/rackproof/rackproof/profiles"
)

// copyMatrix are the figures of one test: of one row with the host, or of a square in
// which a row's GPU reads the column's.
type copyMatrix struct {
	cells [][]Opt[float64]
	pairs bool
	gpus  int
	floor float64 // NaN = none
}

func newCopyMatrix(t *CopyTest, pairs bool, limit *profiles.Limit) (*copyMatrix, error) {
	m := &copyMatrix{cells: t.Cells, pairs: pairs, gpus: len(t.Cells[0]), floor: limit.Number(profiles.GBPerSecond)}
	rows := 1
	if pairs {
		rows = m.gpus
	}
	if m.gpus == 0 || len(t.Cells) < rows || len(t.Cells)%rows != 0 { // a test that ran again and again has all its tables
		return nil, fmt.Errorf("the table of %s has %d lines of %d figures", t.Name, len(t.Cells), m.gpus)
	}
	for _, row := range t.Cells {
		if len(row) != m.gpus {
			return nil, fmt.Errorf("the table of %s has lines of %d and of %d figures", t.Name, m.gpus, len(row))
		}
	}
	return m, nil
}

// cell is the lowest figure of a place, with the peer's number or -1.
func (m *copyMatrix) cell(row, column int) Opt[float64] {
	step := 1
	if m.pairs {
		step = m.gpus
	}
	low := Opt[float64]{Text: m.cells[row][column].Text}
	for at := row; at < len(m.cells); at += step {
		c := m.cells[at][column]
		if !c.Set {
			return c
		}
		if !low.Set || c.V < low.V {
			low = c
		}
	}
	return low
}

// of are the figures of a GPU, those of each pair once.
func (m *copyMatrix) of(gpu int) []float64 {
	var out []float64
	if !m.pairs {
		if c := m.cell(0, gpu); c.Set {
			return []float64{c.V}
		}
		return nil
	}
	for peer := range m.gpus {
		if v := m.pair(gpu, peer); peer != gpu && v.Set {
			out = append(out, v.V)
		}
	}
	return out
}

// pair is the lower of both directions.
func (m *copyMatrix) pair(a, b int) Opt[float64] {
	one, other := m.cell(a, b), m.cell(b, a)
	if !one.Set || other.Set && one.V < other.V {
		return one
	}
	return other
}

// slow counts the pairs of a GPU that are below the floor.
func (m *copyMatrix) slow(gpu int) int {
	n := 0
	for _, v := range m.of(gpu) {
		if v < m.floor {
			n++
		}
	}
	return n
}

// worst is the lowest figure of a GPU and, of a pair, its peer; else peer is -1. A slow
// pair belongs to the GPU that has more of them: a fault of one GPU shows in each of its
// pairs, and its peers are not to blame.
func (m *copyMatrix) worst(gpu int) (low float64, peer int, err error) {
	low, peer = math.Inf(1), -1
	if !m.pairs {
		c := m.cell(0, gpu)
		if !c.Set {
			return 0, -1, c.Absent("the copy")
		}
		return c.V, -1, nil
	}
	mine := m.slow(gpu)
	for other := range m.gpus {
		if other == gpu {
			continue
		}
		v := m.pair(gpu, other)
		switch {
		case !v.Set:
			return 0, -1, fmt.Errorf("the pair with number %d was not measured", other)
		case v.V < m.floor && m.slow(other) > mine:
		case v.V < low:
			low, peer = v.V, other
		}
	}
	if peer < 0 {
		return 0, -1, fmt.Errorf("all pairs are slow, and each belongs to its peer")
	}
	return low, peer, nil
}
