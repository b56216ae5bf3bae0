package nodetest_test

import (
	"fmt"

	"github.com/rackproof/rackproof/burnin/nodetest"
)

// A machine is made up from its name; a fault is planted by its own.
func ExampleMachine_Break() {
	m, err := nodetest.New("hgx-h100-8", "r12u07", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := m.Break("gpu-x8"); err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range m.GPUs {
		if g.Width < 16 {
			fmt.Printf("GPU %s (nvidia-smi %d): x%d\n", g.Label, g.Index, g.Width)
		}
	}
	// Output: GPU SXM3 (nvidia-smi 5): x8
}
