package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	qemuBinary = "qemu-system-x86_64"
	// qemuStartLimit bounds the time until QEMU answers; it takes 0.3 s on an idle
	// machine.
	qemuStartLimit = 30 * time.Second
	// qemuStopLimit is what QEMU gets to end by itself; then it is killed.
	qemuStopLimit = 3 * time.Second
)

// vm is one life of QEMU, from power on to power off or reset.
type vm struct {
	qmp   *qmp
	agent *agent
	cmd   *exec.Cmd
	done  chan struct{} // closed when QEMU has ended
	exit  error         // of QEMU; read it after done

	mu     sync.Mutex
	reason string // of QEMU's SHUTDOWN event: guest-reset, guest-shutdown, …
}

// socketPair is a connection whose far end a child inherits.
func socketPair(name string) (*net.UnixConn, *os.File, error) {
	syscall.ForkLock.RLock() // no other child may inherit them meanwhile
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("socket pair for %s: %w", name, err)
	}
	near, far := os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name)
	c, err := net.FileConn(near)
	if err := errors.Join(err, near.Close()); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("socket pair for %s: %w", name, err), far.Close())
	}
	return c.(*net.UnixConn), far, nil
}

// startVM starts QEMU and returns when it takes commands. The serial line goes
// to the console. QEMU outlives ctx, which bounds the start only.
func startVM(ctx context.Context, s start, console *console) (_ *vm, err error) {
	ctx, cancel := context.WithTimeout(ctx, qemuStartLimit)
	defer cancel()
	log, err := os.OpenFile(s.spec.Path("qemu.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.spec.Name, err)
	}
	defer func() { _ = log.Close() }()
	names := []string{"qmp", "serial", "agent"}
	for _, c := range s.cards {
		names = append(names, c.name)
	}
	near := make([]*net.UnixConn, len(names))
	far := make([]*os.File, len(names))
	defer func() {
		for i := range names {
			if far[i] != nil {
				_ = far[i].Close()
			}
			if err != nil && near[i] != nil {
				_ = near[i].Close()
			}
		}
	}()
	for i, name := range names {
		if near[i], far[i], err = socketPair(name); err != nil {
			return nil, err
		}
	}
	v := &vm{done: make(chan struct{}), cmd: exec.CommandContext(context.WithoutCancel(ctx), qemuBinary, s.arguments()...)}
	v.cmd.Stdout, v.cmd.Stderr, v.cmd.ExtraFiles = log, log, far
	if err := v.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.spec.Name, err)
	}
	go v.wait()
	v.serve(s, near[len(names)-len(s.cards):])
	go console.attach(near[fileSerial-fileQMP])
	v.agent = newAgent(near[fileAgent-fileQMP])
	if v.qmp, err = openQMP(ctx, near[0], v.event); err != nil {
		v.kill()
		return nil, fmt.Errorf("start %s: %w; see %s", s.spec.Name, err, log.Name())
	}
	return v, nil
}

// serve answers for the cards until QEMU ends.
func (v *vm) serve(s start, conns []*net.UnixConn) {
	for i, c := range s.cards {
		c.function.powerOn()
		go func() {
			_ = c.function.serve(conns[i]) // ends with QEMU
			_ = conns[i].Close()
		}()
	}
}

func (v *vm) wait() {
	v.exit = v.cmd.Wait()
	close(v.done)
}

// event keeps why QEMU ends.
func (v *vm) event(e qmpEvent) {
	if e.Event != "SHUTDOWN" {
		return
	}
	var why struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(e.Data, &why) != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reason = why.Reason
}

// ended is why QEMU ended by itself; wait for done first.
func (v *vm) ended() string {
	<-v.qmp.gone // the reason may still be on its way
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.reason != "":
		return v.reason
	case v.exit != nil:
		return "crash"
	}
	return "exit"
}

// stop ends QEMU and waits for it.
func (v *vm) stop() {
	_ = v.cmd.Process.Signal(syscall.SIGTERM) // an ended one is what we want
	t := time.NewTimer(qemuStopLimit)
	defer t.Stop()
	select {
	case <-v.done:
	case <-t.C:
		v.kill()
	}
	v.qmp.close()
	v.agent.close()
}

func (v *vm) kill() {
	_ = v.cmd.Process.Kill()
	<-v.done
}
