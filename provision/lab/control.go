package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// Status is what there is.
type Status struct {
	PID      int             `json:"pid"` // of the supervisor
	Dir      string          `json:"dir"`
	Started  time.Time       `json:"started"`
	Image    string          `json:"image"`
	Netboot  bool            `json:"netboot"` // the lab serves the image itself
	Machines []MachineStatus `json:"machines"`
}

// MachineStatus is one machine as it stands.
type MachineStatus struct {
	Name     string     `json:"name"`
	Firmware Firmware   `json:"firmware"`
	GPUs     int        `json:"gpus"`
	UUID     string     `json:"uuid"`
	Serial   string     `json:"serial"`
	On       bool       `json:"on"`
	Boot     BootChoice `json:"boot"` // waits for the next start
	BMC      string     `json:"bmc"`
	Host     string     `json:"host"`
	MAC      string     `json:"mac"`
	Faults   []string   `json:"faults,omitempty"`
	Dir      string     `json:"dir"`
}

// Status tells what there is.
func (l *Lab) Status() Status {
	s := Status{PID: l.pid, Dir: l.options.Dir, Started: l.started.UTC(), Image: l.options.Image, Netboot: l.options.Netboot}
	for _, m := range l.machines {
		p := m.spec
		s.Machines = append(s.Machines, MachineStatus{
			Name: p.Name, Firmware: p.Firmware, GPUs: p.GPUs, UUID: p.UUID(), Serial: p.Serial(), On: m.On(), Boot: m.Boot(),
			BMC: p.BMCIP(), Host: p.HostIP(), MAC: p.HostMAC(), Faults: m.Faults(), Dir: p.Dir,
		})
	}
	return s
}

// faultRequest is the body of POST /fault; the answer is a faultReply.
type faultRequest struct {
	Machine string `json:"machine"`
	Name    string `json:"name"`
	Value   string `json:"value,omitempty"`
}

type faultReply struct {
	Note string `json:"note,omitempty"`
}

// problem is the body of an answer other than 2xx.
type problem struct {
	Error string `json:"error"`
	Usage bool   `json:"usage,omitempty"` // the request made no sense
}

// serveControl answers on a unix socket, which only root can open.
func (l *Lab) serveControl(ctx context.Context, path string) (func() error, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { answer(w, l.Status(), nil) })
	mux.HandleFunc("POST /down", func(w http.ResponseWriter, _ *http.Request) { answer(w, struct{}{}, nil); l.quit() })
	mux.HandleFunc("POST /fault", func(w http.ResponseWriter, r *http.Request) {
		var q faultRequest
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			answer(w, nil, usagef("fault: %v", err))
			return
		}
		note, err := l.Fault(r.Context(), q.Machine, q.Name, q.Value)
		answer(w, faultReply{Note: note}, err)
	})
	mux.HandleFunc("POST /power", l.handlePower)
	mux.HandleFunc("POST /boot", l.handleBoot)
	mux.HandleFunc("GET /console/{machine}", l.handleConsole)
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("control socket: %w", err), ln.Close())
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			return srv.Close()
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, nil
}

// answer writes v, or err with the status that tells whose mistake it is.
func answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		_, usage := errors.AsType[*UsageError](err)
		usage = usage || errors.Is(err, ErrNoFault)
		w.WriteHeader(map[bool]int{true: http.StatusBadRequest, false: http.StatusInternalServerError}[usage])
		v = problem{Error: err.Error(), Usage: usage}
	}
	_ = json.NewEncoder(w).Encode(v) // the caller may be gone
}
