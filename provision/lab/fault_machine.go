package lab

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// machineFaults are those of the machine as a whole.
func machineFaults() []Fault {
	return []Fault{
		{
			Name: "link-flap", Value: "[TIMES], default 3", Does: "the NIC that netboots loses its link for two seconds, and again",
			put: linkFlap,
		},
		{
			Name: "ssh-dies", Value: "[SECONDS], default until healed", Does: "sshd and its sessions end; after SECONDS it is back",
			put: sshDies, heal: sshBack,
		},
		{
			Name: "power-loss", Value: "[SECONDS], default 15", Does: "host and BMC lose power; after SECONDS the BMC is back and the host stays off",
			put: powerLoss,
		},
		{
			Name: "wrong-machine", Does: "the host tells another UUID and other serials than its BMC", Cold: true,
			put: func(_ context.Context, _ *Lab, m *Machine, _ string) (string, error) {
				m.setStranger(true)
				return "", nil
			},
			heal: func(_ context.Context, _ *Lab, m *Machine) error { m.setStranger(false); return nil },
		},
	}
}

func (m *Machine) setStranger(is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hardware.stranger = is
}

// flapTime is how long the link stays down, and then up.
const flapTime = 2 * time.Second

func linkFlap(ctx context.Context, _ *Lab, m *Machine, value string) (string, error) {
	times, err := number(value, 3, 1, 20)
	if err != nil {
		return "", err
	}
	v, err := m.on()
	if err != nil {
		return "", err
	}
	for range times {
		for _, up := range []bool{false, true} {
			if err := v.qmp.do(ctx, "set_link", map[string]any{"name": "net0", "up": up}, nil); err != nil {
				return "", err
			}
			if err := wait(ctx, flapTime); err != nil {
				// Never leave the host without its link.
				return "", errors.Join(err, v.qmp.do(context.WithoutCancel(ctx), "set_link", map[string]any{"name": "net0", "up": true}, nil))
			}
		}
	}
	return "", nil
}

// wait is a pause that ends with ctx.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// noSSH is the file that keeps the image from starting sshd.
const noSSH = "/run/no-sshd"

func sshDies(ctx context.Context, _ *Lab, m *Machine, value string) (string, error) {
	seconds, err := number(value, 0, 1, 3600)
	if err != nil {
		return "", err
	}
	line := "touch " + noSSH
	if seconds > 0 {
		line += fmt.Sprintf("; { sleep %d; rm -f %s; } >/dev/null 2>&1 </dev/null &", seconds, noSSH)
	} else {
		line += ";"
	}
	return "", m.inHost(ctx, line+" pkill -x sshd")
}

func sshBack(ctx context.Context, _ *Lab, m *Machine) error {
	if !m.On() {
		return nil // the next start has it
	}
	return m.inHost(ctx, "rm -f "+noSSH)
}

// powerLoss takes the mains away from a machine and its BMC, and gives it back
// to the BMC, with the restore policy "always off".
func powerLoss(ctx context.Context, l *Lab, m *Machine, value string) (string, error) {
	seconds, err := number(value, 15, 1, 3600)
	if err != nil {
		return "", err
	}
	if err := l.stopBMC(m); err != nil {
		return "", err
	}
	err = m.PowerOff(ctx, "power-loss")
	l.later(time.Duration(seconds)*time.Second, func(ctx context.Context) {
		if err := l.startBMC(ctx, m); err != nil {
			l.log.Error("BMC did not come back", "machine", m.spec.Name, "err", err)
		}
	})
	return fmt.Sprintf("The BMC is back in %d s.", seconds), err
}
