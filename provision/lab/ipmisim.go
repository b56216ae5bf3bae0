package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	simBinary = "ipmi_sim"
	// simStartLimit bounds the time until ipmi_sim answers; it takes 0.2 s on an
	// idle machine.
	simStartLimit = 20 * time.Second
	// simStopLimit is what it gets to end by itself.
	simStopLimit = 2 * time.Second
)

// ipmiSim is OpenIPMI's ipmi_sim as the BMC of one machine. It takes commands on
// its standard input for as long as it runs.
type ipmiSim struct {
	machine *Machine
	cmd     *exec.Cmd
	done    chan struct{} // closed when it has ended
	relay   *relay

	mu    sync.Mutex
	input io.WriteCloser
}

// startIPMI starts the machine's IPMI BMC at its address. What it returns ends
// it.
func startIPMI(ctx context.Context, m *Machine) (func() error, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("ipmi_sim: %w", err)
	}
	arguments, err := writeSimConfig(m, program, filepath.Dir(m.spec.Dir))
	if err != nil {
		return nil, fmt.Errorf("ipmi_sim: %w", err)
	}
	s, err := runSim(ctx, m, arguments)
	if err != nil {
		return nil, err
	}
	start, cancel := context.WithTimeout(ctx, simStartLimit)
	defer cancel()
	if err := s.setClock(start); err != nil {
		return nil, errors.Join(fmt.Errorf("ipmi_sim does not answer: %w; see %s", err, m.spec.Path("ipmi.log")), s.stop())
	}
	if s.relay, err = startRelay(ctx, m.spec.BMCIP(), m.spec.simAddress(), ipmiPort); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	if err := m.bmc.started(s); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s.stop, nil
}

func runSim(ctx context.Context, m *Machine, arguments []string) (*ipmiSim, error) {
	log, err := os.OpenFile(m.spec.Path("ipmi.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ipmi_sim: %w", err)
	}
	defer func() { _ = log.Close() }()
	s := &ipmiSim{machine: m, done: make(chan struct{}), cmd: exec.CommandContext(context.WithoutCancel(ctx), simBinary, arguments...)}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if s.input, err = s.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("ipmi_sim: %w", err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("ipmi_sim: %w", err)
	}
	go func() {
		_ = s.cmd.Wait() // it is told to go, or its log says why
		close(s.done)
	}()
	return s, nil
}

// say gives ipmi_sim a command (ipmi_sim_cmd(5)).
func (s *ipmiSim) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := fmt.Fprintf(s.input, format+"\n", args...); err != nil {
		s.machine.log.Error("ipmi_sim takes no commands", "err", err)
	}
}

// addEvent puts an event into the SEL. ipmi_sim stamps it.
func (s *ipmiSim) addEvent(e SELEntry) {
	const (
		systemEvent = 2
		revision    = 4 // of the event message format
		deasserted  = 0x80
	)
	event := e.EventType
	if e.Deassert {
		event |= deasserted
	}
	s.say("sel_add 0x20 %d 0 0 0 0 0x20 0 %d %#02x %#02x %#02x %#02x %#02x %#02x", systemEvent, revision,
		e.SensorType, e.Sensor, event, e.Data[0], e.Data[1], e.Data[2])
}

// pause stops it from answering anybody, and lets it go on.
func (s *ipmiSim) pause(on bool) error {
	signal := syscall.SIGCONT
	if on {
		signal = syscall.SIGSTOP
	}
	if err := s.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("ipmi_sim: %w", err)
	}
	return nil
}

// stop ends it and waits for that.
func (s *ipmiSim) stop() error {
	s.machine.bmc.stopped(s)
	var err error
	if s.relay != nil {
		err = s.relay.close()
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // an ended one is what we want
	_ = s.cmd.Process.Signal(syscall.SIGCONT)
	timer := time.NewTimer(simStopLimit)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	return err
}
