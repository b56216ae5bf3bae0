package lab

import (
	"context"
	"encoding/json"
	"net/http"
)

// PowerAct is what is done to a machine's power.
type PowerAct string

// The acts of a chassis.
const (
	ActOn       PowerAct = "on"
	ActOff      PowerAct = "off"
	ActReset    PowerAct = "reset"
	ActShutdown PowerAct = "shutdown" // the ACPI power button
)

// powerRequest is the body of POST /power, bootRequest of POST /boot. By says
// who asks, for chassis.log.
type powerRequest struct {
	Machine string   `json:"machine"`
	Act     PowerAct `json:"act"`
	By      string   `json:"by"`
}

type bootRequest struct {
	Machine string     `json:"machine"`
	Boot    BootChoice `json:"boot"`
	By      string     `json:"by"`
}

// Power changes a machine's power on behalf of by. A machine that is on stays so
// when it is powered on.
func (c *Client) Power(ctx context.Context, machine string, act PowerAct, by string) error {
	return c.call(ctx, http.MethodPost, "/power", powerRequest{machine, act, by}, nil)
}

// SetBoot chooses what the machine's next start boots from, on behalf of by.
func (c *Client) SetBoot(ctx context.Context, machine string, b BootChoice, by string) error {
	return c.call(ctx, http.MethodPost, "/boot", bootRequest{machine, b, by}, nil)
}

func (l *Lab) handlePower(w http.ResponseWriter, r *http.Request) {
	var q powerRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		answer(w, nil, usagef("power: %v", err))
		return
	}
	m, err := l.Machine(q.Machine)
	if err != nil {
		answer(w, nil, err)
		return
	}
	// The caller may go away; half a power on helps nobody.
	ctx := context.WithoutCancel(r.Context())
	acts := map[PowerAct]func(context.Context, string) error{ActOn: m.PowerOn, ActOff: m.PowerOff, ActReset: m.Reset, ActShutdown: m.Shutdown}
	act, ok := acts[q.Act]
	if !ok {
		answer(w, nil, usagef("power %q; give on, off, reset or shutdown", q.Act))
		return
	}
	answer(w, struct{}{}, act(ctx, q.By))
}

func (l *Lab) handleBoot(w http.ResponseWriter, r *http.Request) {
	var q bootRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		answer(w, nil, usagef("boot: %v", err))
		return
	}
	m, err := l.Machine(q.Machine)
	if err != nil {
		answer(w, nil, err)
		return
	}
	answer(w, struct{}{}, m.SetBoot(q.Boot, q.By))
}
