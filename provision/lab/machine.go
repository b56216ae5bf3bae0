package lab

import (
	"context"
	"errors"
	"sync"
)

// memoryMB is the memory of a machine.
const memoryMB = 2048

// Machine is one VM as its BMCs see it. It is safe for concurrent use, and every
// change is appended to <dir>/chassis.log as
//
//	<unix time> power on boot=pxe by=ipmi
type Machine struct {
	spec    Spec
	sensors *Sensors

	mu       sync.Mutex
	boot     BootChoice
	onChange []func()
}

// NewMachine is a machine that is off. Its folder is made by the supervisor.
func NewMachine(spec Spec) *Machine {
	return &Machine{spec: spec, sensors: newSensors(spec.Path("sensors"))}
}

// Spec is how the machine is built.
func (m *Machine) Spec() Spec { return m.spec }

// On reports whether the machine has power.
func (m *Machine) On() bool { return false }

var errNotBuilt = errors.New("not built")

// PowerOn starts the machine and uses up a one-time boot choice. A machine that
// is on stays as it is.
func (m *Machine) PowerOn(ctx context.Context, by string) error { return errNotBuilt }

// PowerOff takes the power away and waits for the end of QEMU.
func (m *Machine) PowerOff(ctx context.Context, by string) error { return errNotBuilt }

// Shutdown presses the ACPI power button. It does not wait.
func (m *Machine) Shutdown(ctx context.Context, by string) error { return errNotBuilt }

// Reset starts a running machine anew and uses up a one-time boot choice.
func (m *Machine) Reset(ctx context.Context, by string) error { return errNotBuilt }

// Boot is the boot choice that waits for the next start.
func (m *Machine) Boot() BootChoice {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boot
}

// SetBoot chooses what the next start boots from.
func (m *Machine) SetBoot(b BootChoice, by string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boot = b
	return nil
}

// InsertMedia attaches the image at an HTTP URL as a CD in the machine's USB
// drive.
func (m *Machine) InsertMedia(ctx context.Context, image string) error { return errNotBuilt }

// EjectMedia empties the drive.
func (m *Machine) EjectMedia(ctx context.Context) error { return errNotBuilt }

// OnChange calls f after each change of power, also when the machine ended by
// itself.
func (m *Machine) OnChange(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onChange = append(m.onChange, f)
}

// Sensors are the values that both BMCs show.
func (m *Machine) Sensors() *Sensors { return m.sensors }

// Log adds an event to the logs of both BMCs.
func (m *Machine) Log(e SELEntry) {}
