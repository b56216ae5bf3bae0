package burnin

import "testing"

func TestParseGPUTopology(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, out string
		gpus      int
		want      string // of GPU0 and GPU1
		none      bool
	}{
		{"tabs and colour", "\t\x1b[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\x1b[0m\nGPU0\t X \tNV18\t0-55\t0\nGPU1\tNV18\t X \t0-55\t0\n", 2, "NV18", false},
		{"adapters before GPUs", "\tmlx5_0\tGPU0\tGPU1\tCPU Affinity\nmlx5_0\t X \tPIX\tSYS\nGPU0\tPIX\t X \tNV12\t0-55\nGPU1\tSYS\tNV12\t X \t0-55\n", 2, "NV12", false},
		{"head wrapped by a narrow terminal", "        GPU0    GPU1    GPU2\n    NIC0    CPU Affinity\nGPU0     X      NODE    SYS     PIX     0-55\nGPU1    NODE     X      SYS     PIX     0-55\nGPU2    SYS     SYS      X      PIX     0-55\n", 3, "NODE", false},
		{"rows wrapped", "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \n\tPHB\tSYS\t0-55\nGPU1\tPHB\t X \n\tSYS\t0-55\nGPU2\tSYS\tSYS\t X \t0-55\n", 3, "PHB", false},
		{"one GPU", "\tGPU0\tCPU Affinity\nGPU0\t X \t0-55\n", 1, "", false},
		{"failure", "Failed to initialize NVML: Driver/library version mismatch\n", 0, "", true},
		{"legend only", "Legend:\n\n  X    = Self\n", 0, "", true},
	}
	for _, row := range rows {
		m, err := parseGPUTopology(&Evidence{Out: []byte(row.out)})
		if (err != nil) != row.none {
			t.Errorf("%s: error %v", row.name, err)
			continue
		}
		if len(m.GPUs) != row.gpus || m.At(0, 1) != row.want || m.At(1, 0) != row.want {
			t.Errorf("%s: %d GPUs, cells %v", row.name, len(m.GPUs), m.Cells)
		}
	}
}

// A GPU without its links is told once for each of its pairs, and its peers are not
// blamed.
func TestTopologyBlamesTheLoneGPU(t *testing.T) {
	t.Parallel()
	const out = "\tGPU0\tGPU1\tGPU2\tCPU Affinity\nGPU0\t X \tNV18\tSYS\t0\nGPU1\tNV18\t X \tSYS\t0\nGPU2\tSYS\tSYS\t X \t0\n"
	r := NewReadings(looseGPU(map[string][]byte{"gpu-topology": []byte(out)}))
	peers := map[string]int{}
	for _, f := range judgeGPUTopology(r, gpuProfile(t, "hgx-h100-8"), newGPUParts) {
		if f.Verdict == Fail {
			if f.Part != "GPU (nvidia-smi 2)" || f.Class != ClassNVLink {
				t.Errorf("%s is blamed", f.Part)
			}
			peers[f.Peer]++
		}
	}
	if len(peers) != 2 || peers["GPU (nvidia-smi 0)"] != 1 || peers["GPU (nvidia-smi 1)"] != 1 {
		t.Errorf("peers %v", peers)
	}
}

func FuzzParseGPUTopology(f *testing.F) {
	f.Add([]byte("\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\x1b[0m\nGPU0\t X \tNV18\tPXB\t0-55\nGPU1\tNV18\t X \tPXB\t0-55\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		m, err := parseGPUTopology(&Evidence{Out: out})
		if err == nil && len(m.GPUs) == 0 {
			t.Error("read, but no GPU")
		}
		for pair, cell := range m.Cells {
			if pair[0] < 0 || pair[1] < 0 || cell == "" {
				t.Errorf("cell %v is %q", pair, cell)
			}
		}
	})
}
