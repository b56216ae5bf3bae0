package lab

import (
	"context"
	"fmt"
	"strings"
)

// kernelFaults show in the host's kernel log.
func kernelFaults() []Fault {
	return []Fault{
		{Name: "mce", Value: "[corrected|fatal], default corrected", Does: "a machine check of processor 0; a fatal one ends the kernel", put: machineCheck},
		{Name: "aer", Value: "[corrected|uncorrected], default corrected", Does: "the root port of gpu0 reports a PCI Express error", put: aerError},
		{Name: "xid", Value: "[CARD=]CODE, default gpu0=79", Does: "the NVIDIA driver's line of an XID in the kernel log", put: xidLine},
		{Name: "kernel-panic", Does: "the host's kernel panics", put: kernelPanic},
	}
}

// inHost runs a line in the host by the agent.
func (m *Machine) inHost(ctx context.Context, line string) error {
	v, err := m.on()
	if err != nil {
		return err
	}
	if _, err := v.agent.run(ctx, line); err != nil {
		return fmt.Errorf("%s: %w", m.spec.Name, err)
	}
	return nil
}

// machineCheck injects into bank 4. Status bits: Intel SDM 3B, 15.3.2.2; the
// code 0x0151 is an instruction fetch error of the level 1 cache.
func machineCheck(ctx context.Context, _ *Lab, m *Machine, value string) (string, error) {
	v, err := m.on()
	if err != nil {
		return "", err
	}
	switch value {
	case "", "corrected":
		// The kernel looks every five minutes otherwise.
		if err := m.inHost(ctx, "echo 1 >/sys/devices/system/machinecheck/machinecheck0/check_interval"); err != nil {
			return "", err
		}
		return "The kernel logs it within some seconds.", v.qmp.hmp(ctx, "mce 0 4 0x9c00000000010151 0 0x1234000 0")
	case "fatal":
		return "", v.qmp.hmp(ctx, "mce 0 4 0xbe00000000010151 5 0x1234000 0x86")
	}
	return "", usagef("value %q; give corrected or fatal", value)
}

// aerError goes through the kernel's aer_inject module: QEMU 7.2 sends no
// message for a corrected error. The module takes a struct aer_error_inj: bus,
// device, function, a byte of padding, uncorrectable and correctable status, four
// words of header log, domain.
func aerError(ctx context.Context, _ *Lab, m *Machine, value string) (string, error) {
	uncorrectable, correctable := 0, 0
	switch value {
	case "", "corrected":
		correctable = 1 << 6 // bad TLP
	case "uncorrected":
		uncorrectable = 1 << 14 // completion timeout, non-fatal
	default:
		return "", usagef("value %q; give corrected or uncorrected", value)
	}
	record := make([]byte, 32)
	record[1] = slotGPU0
	for i, word := range []int{uncorrectable, correctable} {
		record[4+4*i], record[5+4*i] = byte(word), byte(word>>8)
	}
	var octal strings.Builder
	for _, b := range record {
		fmt.Fprintf(&octal, `\%03o`, b)
	}
	return "", m.inHost(ctx, "modprobe aer_inject && printf '"+octal.String()+"' >/dev/aer_inject")
}

// xidLine writes what the NVIDIA driver would: there is no driver behind the
// lab's GPUs.
func xidLine(ctx context.Context, _ *Lab, m *Machine, value string) (string, error) {
	name, code := targeted(value, gpuName(0), "79")
	card, err := m.card(name)
	if err != nil {
		return "", err
	}
	n, err := number(code, 0, 1, 999)
	if err != nil {
		return "", err
	}
	text := "pid=1234, name=lab"
	if n == 79 {
		text += ", GPU has fallen off the bus."
	}
	// The card's bus is what its root port says.
	line := fmt.Sprintf(`b=$(cat /sys/bus/pci/devices/0000:00:%02x.0/secondary_bus_number) && printf '<3>NVRM: Xid (PCI:0000:%%02x:00): %d, %s\n' $b >/dev/kmsg`, card.slot, n, text)
	return "", m.inHost(ctx, line)
}

func kernelPanic(ctx context.Context, _ *Lab, m *Machine, _ string) (string, error) {
	v, err := m.on()
	if err != nil {
		return "", err
	}
	return "", v.agent.launch(ctx, "echo 1 >/proc/sys/kernel/sysrq; echo c >/proc/sysrq-trigger")
}
