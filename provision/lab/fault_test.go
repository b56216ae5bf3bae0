package lab

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// offLab is a lab of one machine that is off, without network and BMC.
func offLab(t *testing.T) (*Lab, *Machine) {
	t.Helper()
	m, err := NewMachine(NewSpec(1, t.TempDir()), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.console.close() })
	return &Lab{machines: []*Machine{m}, stop: map[string][]func() error{}}, m
}

func TestFaultsAreNamedOnce(t *testing.T) {
	seen := map[string]bool{NoFault: true}
	for _, f := range Faults() {
		if seen[f.Name] || f.put == nil || f.Does == "" {
			t.Errorf("fault %q: named twice, or empty", f.Name)
		}
		seen[f.Name] = true
	}
}

// The names are public: tests, tables and people say them.
func TestFaultNames(t *testing.T) {
	want := strings.Fields(`pcie-width pcie-speed gpu-off-bus gpu-hot gpu-power-low dimm-missing dimm-slow dimm-not-ecc ecc-corrected ecc-uncorrected
		mce aer nvme-critical nvme-medium-error nvme-slow nvme-missing cpu-hot fan-dead psu-lost xid kernel-panic link-flap
		ssh-dies bmc-dies bmc-slow power-loss wrong-machine`)
	var got []string
	for _, f := range Faults() {
		got = append(got, f.Name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("faults %q\nwant %q", got, want)
	}
}

func TestFaultsOfWhatIsPluggedIn(t *testing.T) {
	gpu1 := func(m *Machine) *pciFunction { return m.cards[3].function }
	for _, c := range []struct {
		fault, value string
		cold         bool
		want         func(m *Machine) bool // while it stands; not after
	}{
		{"pcie-width", "", false, func(m *Machine) bool { return m.cards[2].function.negotiated() == pciLink{4, 8} }},
		{"pcie-width", "gpu1=4", false, func(m *Machine) bool { return gpu1(m).negotiated() == pciLink{4, 4} }},
		{"pcie-speed", "nic0=1", false, func(m *Machine) bool { return m.cards[1].function.negotiated() == pciLink{1, 16} }},
		{"gpu-off-bus", "gpu1", false, func(m *Machine) bool { return gpu1(m).dead }},
		{"dimm-missing", "", true, func(m *Machine) bool { return m.hardware.memory() == memoryMB*7/8 && m.hardware.dimms[2].SizeMB == 0 }},
		{"dimm-slow", "dimm_h1", true, func(m *Machine) bool { return m.hardware.dimms[7].SpeedMTs == 3200 }},
		{"dimm-not-ecc", "", true, func(m *Machine) bool { return !m.hardware.dimms[2].ECC }},
		{"wrong-machine", "", true, func(m *Machine) bool { return m.hardware.identity(m.spec).UUID() != m.spec.UUID() }},
		{"nvme-missing", "", false, func(m *Machine) bool { return m.hardware.drive.missing }},
		{"nvme-critical", "", false, func(m *Machine) bool { return m.hardware.drive.critical == 4 }},
		{"nvme-slow", "250", false, func(m *Machine) bool { return m.hardware.drive.iops == 250 }},
		{"nvme-medium-error", "", false, func(m *Machine) bool { return m.hardware.drive.bad == 409600 }},
	} {
		t.Run(strings.TrimSpace(c.fault+" "+c.value), func(t *testing.T) {
			l, m := offLab(t)
			note, err := l.Fault(t.Context(), "lab1", c.fault, c.value)
			if err != nil || !c.want(m) {
				t.Fatalf("%v, or it does not stand", err)
			}
			if c.cold != strings.Contains(note, "powered on") {
				t.Errorf("note %q", note)
			}
			if got := m.Faults(); !slices.Equal(got, []string{c.fault}) {
				t.Errorf("faults %q", got)
			}
			if _, err := l.Fault(t.Context(), "lab1", NoFault, ""); err != nil || c.want(m) || len(m.Faults()) != 0 {
				t.Errorf("heal: %v, or it still stands: %q", err, m.Faults())
			}
		})
	}
}

func TestFaultsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct{ machine, fault, value, says string }{
		{"lab2", "mce", "", "there is lab1"},
		{"lab1", "pcie-with", "", "did you mean pcie-width"},
		{"lab1", "pcie-width", "3", "one of 1 2 4"},
		{"lab1", "pcie-width", "gpu7=8", "gpu0, gpu1"},
		{"lab1", "pcie-width", "edac=8", "gpu0, gpu1"},
		{"lab1", "dimm-missing", "A1", "DIMM_A1 to DIMM_H1"},
		{"lab1", "nvme-slow", "fast", "whole number"},
		{"lab1", "nvme-critical", "256", "1 to 255"},
	} {
		l, m := offLab(t)
		_, err := l.Fault(t.Context(), c.machine, c.fault, c.value)
		_, usage := errors.AsType[*UsageError](err)
		if !usage && !errors.Is(err, ErrNoFault) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s %s: %v", c.machine, c.fault, c.value, err)
		}
		if len(m.Faults()) != 0 {
			t.Errorf("%s %s: noted as put", c.fault, c.value)
		}
	}
}

// What happens inside the host cannot happen to a machine that is off.
func TestFaultsThatNeedPower(t *testing.T) {
	for _, name := range []string{"ecc-corrected", "ecc-uncorrected", "mce", "aer", "xid", "kernel-panic", "link-flap", "ssh-dies"} {
		l, m := offLab(t)
		if _, err := l.Fault(t.Context(), "lab1", name, ""); !errors.Is(err, errOff) {
			t.Errorf("%s: %v", name, err)
		}
		if len(m.Faults()) != 0 {
			t.Errorf("%s: noted as put", name)
		}
	}
}

func TestChassisLogTellsFaults(t *testing.T) {
	l, m := offLab(t)
	for _, f := range [][2]string{{"pcie-width", "gpu1=8"}, {NoFault, ""}} {
		if _, err := l.Fault(t.Context(), "lab1", f[0], f[1]); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(m.spec.Dir, "chassis.log"))
	if err != nil || !strings.Contains(string(b), " fault pcie-width gpu1=8\n") || !strings.Contains(string(b), " fault none\n") {
		t.Errorf("chassis log %q, %v", b, err)
	}
}
