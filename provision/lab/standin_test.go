package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
)

// fakeBus is a PCI bus as sysfs shows it, and the stand-ins on it.
type fakeBus struct{ dir string }

func newFakeBus(t *testing.T) fakeBus {
	t.Helper()
	b := fakeBus{t.TempDir()}
	write(t, b.dir, "sys/class/dmi/id/product_serial", NewSpec(3, "").Serial()+"\n")
	for _, name := range []string{"usr/lib/rackproof/gpus", "usr/bin/nvidia-smi", "usr/bin/gdscheck", "usr/bin/gpu_burn"} {
		text, err := imageFiles.ReadFile("image/" + name)
		if err != nil {
			t.Fatal(err)
		}
		here := strings.NewReplacer(" /usr/lib/", " "+b.dir+"/usr/lib/", "/sys/", b.dir+"/sys/", "/run/rackproof-gpu-load", b.dir+"/load", gpuFolder+"/", b.dir+"/gpu/").Replace(string(text))
		write(t, b.dir, name, here)
		if err := os.Chmod(filepath.Join(b.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// gpu puts a GPU behind the root port of a slot.
func (b fakeBus) gpu(t *testing.T, slot, bus int, speed, width string) {
	t.Helper()
	address := fmt.Sprintf("0000:%02x:00.0", bus)
	device := filepath.Join("sys/devices/pci0000:00", fmt.Sprintf("0000:00:%02x.0", slot), address)
	for name, text := range map[string]string{
		"vendor": "0x10de", "class": "0x030200", "current_link_speed": speed, "current_link_width": width,
		"max_link_speed": "16.0 GT/s PCIe", "max_link_width": "16",
	} {
		write(t, b.dir, filepath.Join(device, name), text+"\n")
	}
	link := filepath.Join(b.dir, "sys/bus/pci/devices", address)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(b.dir, device), link); err != nil {
		t.Fatal(err)
	}
}

// run starts a stand-in on this bus and returns its evidence.
func (b fakeBus) run(ctx context.Context, t *testing.T, line string) *burnin.Evidence {
	t.Helper()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(b.dir, "usr/bin")+":"+os.Getenv("PATH"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	code := 0
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if errs.Len() > 0 {
		t.Errorf("%s: stderr %s", line, errs.String())
	}
	return &burnin.Evidence{Command: line, Out: out.Bytes(), Exit: &code, Ended: burnin.EndedExit}
}

func parse[T any](t *testing.T, p burnin.Probe[T], e *burnin.Evidence) T {
	t.Helper()
	v, err := p.Parse(e)
	if err != nil {
		t.Fatalf("%s: %v\n%s", e.Command, err, e.Out)
	}
	return v
}

// TestStandInFollowsTheBus: count, place and link are those of the bus, and the serial
// is that of the slot, as the BMC tells it.
func TestStandInFollowsTheBus(t *testing.T) {
	b := newFakeBus(t)
	b.gpu(t, 8, 0x0a, "16.0 GT/s PCIe", "16")
	b.gpu(t, 10, 0x0b, "8.0 GT/s PCIe", "8")
	e := b.run(t.Context(), t, "nvidia-smi -q -x")
	log := parse(t, burnin.NvidiaSMI, e)
	if !log.Complete || len(log.GPUs) != 2 || *e.Exit != 0 || log.Attached.V != 2 || log.Driver == "" {
		t.Fatalf("exit %d, %+v", *e.Exit, log)
	}
	for i, want := range []struct {
		address, serial string
		gen, width      float64
	}{{"0000:0a:00.0", NewSpec(3, "").GPUSerial(0), 4, 16}, {"0000:0b:00.0", NewSpec(3, "").GPUSerial(2), 3, 8}} {
		g := log.GPUs[i]
		if g.Address != want.address || g.Serial.V != want.serial || g.LinkGen.V != want.gen || g.LinkWidth.V != want.width {
			t.Errorf("GPU %d: %s %s gen%v x%v, want %+v", i, g.Address, g.Serial.V, g.LinkGen.V, g.LinkWidth.V, want)
		}
		if g.PCIID != "10de:2330" || g.Memory.V != 81559 || g.ECCMode.Current.V != "Enabled" || g.FabricState.V != "Completed" || len(g.Faults) > 0 || g.RemapPending.V != "No" {
			t.Errorf("GPU %d: %+v", i, g)
		}
	}
	if log.GPUs[0].UUID.V == log.GPUs[1].UUID.V {
		t.Errorf("both GPUs have UUID %s", log.GPUs[0].UUID.V)
	}
	sample := parse(t, burnin.NvidiaSMI, b.run(t.Context(), t, burnin.NvidiaSMI.Spec.Sample(nil)))
	if len(sample.GPUs) != 2 || sample.GPUs[1].UUID.V != log.GPUs[1].UUID.V || sample.GPUs[1].LinkWidth.V != 8 || !sample.GPUs[1].Utilisation.Set || !sample.GPUs[1].UncorrectedTotal.Set {
		t.Errorf("sample %+v", sample)
	}
	for what, field := range map[string][2]burnin.Opt[float64]{
		"margin": {log.GPUs[0].Margin, sample.GPUs[0].Margin}, "memory's temperature": {log.GPUs[0].MemoryTemperature, sample.GPUs[0].MemoryTemperature},
		"power limit": {log.GPUs[0].PowerLimit, sample.GPUs[0].PowerLimit}, "SM clock": {log.GPUs[0].SMClock, sample.GPUs[0].SMClock},
		"default power limit": {log.GPUs[0].DefaultPower, log.GPUs[1].DefaultPower}, "highest SM clock": {log.GPUs[0].SMMax, log.GPUs[1].SMMax},
		"highest memory clock": {log.GPUs[0].MemoryMax, sample.GPUs[0].MemoryClock},
	} {
		if !field[0].Set || field[0].V != field[1].V {
			t.Errorf("%s reads %+v and %+v", what, field[0], field[1])
		}
	}
	if full, one := log.GPUs[0].Reasons, sample.GPUs[0].Reasons; full.V != 1 || one.V != 1 || !one.Set {
		t.Errorf("reasons for the clocks of an idle GPU: %+v, sampled %+v", full, one)
	}
	text := parse(t, burnin.NvidiaSMI, b.run(t.Context(), t, "nvidia-smi -q"))
	if len(text.GPUs) != 2 || text.GPUs[0].Serial.V != log.GPUs[0].Serial.V {
		t.Errorf("text %+v", text)
	}
	links := parse(t, burnin.NVLink, b.run(t.Context(), t, "nvidia-smi nvlink -s"))
	if active, err := links.GPUs[1].Active(); active != 18 || err != nil {
		t.Errorf("%d active links, %v", active, err)
	}
	counters := parse(t, burnin.NVLinkErrors, b.run(t.Context(), t, "nvidia-smi nvlink -e"))
	if len(counters.GPUs) != 2 || len(counters.GPUs[0].Links) != 18 {
		t.Errorf("counters %+v", counters)
	}
	matrix := parse(t, burnin.GPUTopology, b.run(t.Context(), t, "nvidia-smi topo -m"))
	if matrix.At(0, 1) != "NV18" || matrix.At(1, 0) != "NV18" {
		t.Errorf("matrix %+v", matrix)
	}
	gds := parse(t, burnin.GDSCheck, b.run(t.Context(), t, "gdscheck -p"))
	if len(gds.GPUs) != 2 || !gds.GPUs[1].Supports || gds.Version == "" || !gds.Verified.V {
		t.Errorf("gdscheck %+v", gds)
	}
	if work := b.run(t.Context(), t, "nvidia-smi --query-compute-apps=pid,process_name --format=csv,noheader"); len(work.Out) > 0 || *work.Exit != 0 {
		t.Errorf("work on the GPUs: %q", work.Out)
	}
}

// TestStandInOfALostGPU: a card that reads all ones is off the bus, and the tool
// says so as the vendor's does.
func TestStandInOfALostGPU(t *testing.T) {
	b := newFakeBus(t)
	b.gpu(t, 8, 0x0a, "16.0 GT/s PCIe", "16")
	b.gpu(t, 9, 0x0b, "Unknown", "63")
	for _, line := range []string{"nvidia-smi -q -x", "nvidia-smi -q", burnin.NvidiaSMI.Spec.Sample(nil)} {
		e := b.run(t.Context(), t, line)
		log := parse(t, burnin.NvidiaSMI, e)
		if *e.Exit != 15 || len(log.GPUs) != 1 || len(log.Messages) != 1 {
			t.Fatalf("%s: exit %d, %+v", line, *e.Exit, log)
		}
		if m := log.Messages[0]; m.Kind != burnin.NvidiaLost || m.Address != "0000:0b:00.0" || m.Index != 1 {
			t.Errorf("%s: message %+v", line, m)
		}
	}
	none := newFakeBus(t)
	if e := none.run(t.Context(), t, "nvidia-smi -q -x"); *e.Exit != 6 || !strings.Contains(string(e.Out), "No devices were found") {
		t.Errorf("no GPU at all: exit %d, %q", *e.Exit, e.Out)
	}
}

// TestStandInOfAFaultyGPU: a hot GPU and one with a lowered power limit show it under load, each
// in the full query and in samples alike; the limit at rest too.
func TestStandInOfAFaultyGPU(t *testing.T) {
	b := newFakeBus(t)
	for slot := 8; slot < 11; slot++ {
		b.gpu(t, slot, slot, "16.0 GT/s PCIe", "16")
	}
	write(t, b.dir, "gpu/8", "hot 700\n")
	write(t, b.dir, "gpu/9", "well 500\n")
	for _, c := range []struct {
		busy                    bool
		margin, limits, reasons [3]float64
	}{
		{false, [3]float64{53, 53, 53}, [3]float64{700, 500, 700}, [3]float64{1, 1, 1}},
		{true, [3]float64{-4, 24, 24}, [3]float64{700, 500, 700}, [3]float64{0x48, 4, 0}},
	} {
		if c.busy {
			write(t, b.dir, "load", fmt.Sprintf("%d\n", os.Getpid()))
		}
		for _, line := range []string{"nvidia-smi -q -x", burnin.NvidiaSMI.Spec.Sample(nil)} {
			log := parse(t, burnin.NvidiaSMI, b.run(t.Context(), t, line))
			for i, g := range log.GPUs {
				if g.Margin.V != c.margin[i] || g.PowerLimit.V != c.limits[i] || float64(g.Reasons.V) != c.reasons[i] {
					t.Errorf("%.20s, busy %t, GPU %d: margin %v, limit %v, reasons %#x; want %v, %v, %v", line, c.busy, i, g.Margin.V, g.PowerLimit.V, g.Reasons.V, c.margin[i], c.limits[i], c.reasons[i])
				}
			}
			if len(log.GPUs) != 3 {
				t.Errorf("%d GPUs", len(log.GPUs))
			}
		}
	}
}

// TestStandInUnderLoad: the GPUs are busy while the load's stand-in runs, and not
// behind its end.
func TestStandInUnderLoad(t *testing.T) {
	b := newFakeBus(t)
	b.gpu(t, 8, 0x0a, "16.0 GT/s PCIe", "16")
	busy := func() float64 {
		return parse(t, burnin.NvidiaSMI, b.run(t.Context(), t, burnin.NvidiaSMI.Spec.Sample(nil))).GPUs[0].Utilisation.V
	}
	done := make(chan *burnin.Evidence)
	go func() { done <- b.run(t.Context(), t, "gpu_burn 2") }()
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	for {
		if _, err := os.Stat(filepath.Join(b.dir, "load")); err == nil {
			break
		}
		select {
		case <-limit.C:
			t.Fatal("the load does not start")
		case <-time.After(10 * time.Millisecond):
		}
	}
	if u := busy(); u != 100 {
		t.Errorf("under load %v %%", u)
	}
	if e := <-done; *e.Exit != 0 || !strings.Contains(string(e.Out), "GPU 0: OK") {
		t.Errorf("load: exit %d, %s", *e.Exit, e.Out)
	}
	if u := busy(); u != 0 {
		t.Errorf("behind the load %v %%", u)
	}
}
