package lab

import (
	"context"
	"fmt"
)

// gpuFolder is where the image's stand-in of nvidia-smi finds what a GPU is made to
// show, in a file for its slot: "hot" or "well", and its power limit in W.
const gpuFolder = "/run/rackproof-gpu"

// gpuPower is the power limit with which the lab's GPUs come, in W.
const gpuPower = 700

// gpuFaults show in what the stand-in of nvidia-smi prints: there is no driver behind
// the lab's GPUs.
func gpuFaults() []Fault {
	return []Fault{
		{Name: "gpu-hot", Value: "[CARD], default gpu0", Does: "under load the GPU gets too hot and halves its clocks", put: gpuHot, heal: gpusWell},
		{Name: "gpu-power-low", Value: "[CARD=]WATTS, default gpu0=500", Does: "the GPU's power limit is set lower", put: gpuPowerLow, heal: gpusWell},
	}
}

func gpuHot(ctx context.Context, _ *Lab, m *Machine, value string) (string, error) {
	return "", m.showGPU(ctx, value, "hot", gpuPower)
}

func gpuPowerLow(ctx context.Context, _ *Lab, m *Machine, value string) (string, error) {
	name, watts := targeted(value, gpuName(0), "500")
	n, err := number(watts, 0, 100, gpuPower-1)
	if err != nil {
		return "", err
	}
	return "", m.showGPU(ctx, name, "well", n)
}

func (m *Machine) showGPU(ctx context.Context, name, state string, watts int) error {
	card, err := m.card(name)
	if err != nil {
		return err
	}
	return m.inHost(ctx, fmt.Sprintf("mkdir -p %[1]s && echo %[2]s %[3]d >%[1]s/%[4]d", gpuFolder, state, watts, card.slot))
}

// gpusWell is over with the host: a booted image forgets.
func gpusWell(ctx context.Context, _ *Lab, m *Machine) error {
	if !m.On() {
		return nil
	}
	return m.inHost(ctx, "rm -rf "+gpuFolder)
}
