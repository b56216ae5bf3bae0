package lab

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// memoryMB is the memory of a healthy machine.
const memoryMB = 2048

// driveSize is the size of each NVMe. The files are sparse.
const driveSize = 2 << 30

// Machine is one VM as its BMCs see it. It is safe for concurrent use, and every
// change is appended to <dir>/chassis.log as
//
//	<unix time> power on boot=pxe by=ipmi
type Machine struct {
	spec    Spec
	log     *slog.Logger
	sensors *Sensors
	events  *eventLog
	bmc     bmcs
	console *console
	cards   []*pciCard
	edac    *edac

	op chan struct{} // holds one token: changes of power go one after the other

	mu       sync.Mutex
	vm       *vm // nil = off
	boot     BootChoice
	hardware hardware
	media    string   // file in the CD drive
	faults   []string // names, in the order in which they came
	onChange []func()
}

// NewMachine makes the machine's folder with empty disks. The machine is off.
func NewMachine(spec Spec, log *slog.Logger) (*Machine, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(spec.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Name, err)
	}
	for _, disk := range []string{"nvme0.img", "nvme1.img"} {
		if err := makeDisk(spec.Path(disk)); err != nil {
			return nil, fmt.Errorf("%s: %w", spec.Name, err)
		}
	}
	console, err := newConsole(spec.Path("serial.log"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Name, err)
	}
	sensors, err := newSensors(spec)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", spec.Name, err), console.close())
	}
	m := &Machine{
		spec: spec, log: log.With("machine", spec.Name), sensors: sensors, events: &eventLog{}, console: console,
		op: make(chan struct{}, 1), hardware: hardware{dimms: slices.Clone(spec.DIMMs)},
	}
	m.cards, m.edac = newCards(spec.GPUs)
	m.sensors.follow(m.sensed)
	m.OnChange(m.bmc.wake)
	return m, nil
}

// makeDisk makes a sparse file, and leaves one that exists.
func makeDisk(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(driveSize), f.Close())
}

// Spec is how the machine is built.
func (m *Machine) Spec() Spec { return m.spec }

// Sensors are the values that both BMCs show.
func (m *Machine) Sensors() *Sensors { return m.sensors }

// On reports whether the machine has power.
func (m *Machine) On() bool { return m.running() != nil }

// running is the machine's QEMU, or nil.
func (m *Machine) running() *vm {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.vm
}

// errOff is why something cannot be done to a machine without power.
var errOff = errors.New("the machine is off; power it on first")

// on is the machine's QEMU, or an error that says it is off.
func (m *Machine) on() (*vm, error) {
	if v := m.running(); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("%s: %w", m.spec.Name, errOff)
}

// OnChange calls f after each change of power, also when the machine ended by
// itself.
func (m *Machine) OnChange(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.onChange = append(m.onChange, f)
}

func (m *Machine) changed() {
	m.mu.Lock()
	calls := slices.Clone(m.onChange)
	m.mu.Unlock()
	for _, f := range calls {
		f()
	}
}

// Boot is the boot choice that waits for the next start.
func (m *Machine) Boot() BootChoice {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boot
}

// SetBoot chooses what the next start boots from.
func (m *Machine) SetBoot(b BootChoice, by string) error {
	switch b.Device {
	case BootOwn, BootPXE, BootDisk, BootCD, BootSetup:
	case BootHTTP:
		if m.spec.Firmware != UEFI || b.URI == "" {
			return fmt.Errorf("%s: HTTP boot needs UEFI firmware and a URI", m.spec.Name)
		}
	default:
		return fmt.Errorf("%s: no boot device %q", m.spec.Name, b.Device)
	}
	m.mu.Lock()
	m.boot = b
	m.note("boot set %s by=%s", b, by)
	m.mu.Unlock()
	m.bmc.wake()
	return nil
}

// note appends a line to chassis.log.
func (m *Machine) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	m.log.Info(line)
	f, err := os.OpenFile(m.spec.Path("chassis.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintf(f, "%d %s\n", time.Now().Unix(), line)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		m.log.Error("chassis log", "err", err)
	}
}
