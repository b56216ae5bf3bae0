package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// rebootCycle restarts the machine as often as the spec or the batch asks, and looks
// behind each start what is there: some links and parts come up only sometimes. A machine
// that failed already is left as it is.
type rebootCycle struct{}

func (rebootCycle) Name() string { return "reboot-cycle" }

const (
	// factReboot is the restart under way, as JSON of restarting.
	factReboot = "reboot"
	// FactReboots is why a machine was not restarted as often as was asked.
	FactReboots = "reboots"

	offPolls  = 10               // for how many polls a cold machine stays off: half a minute
	upPolls   = 20               // for how many polls links and services get to come up behind SSH: a minute
	rebootMax = 45 * time.Minute // of one restart: big servers train their memory for a quarter of an hour
)

// restarting is one restart, durable before anything is done.
type restarting struct {
	Boot   int       `json:"boot"` // from 1
	BootID string    `json:"boot_id"`
	At     time.Time `json:"at"`
}

func (r restarting) name() string { return fmt.Sprintf("boot-%02d", r.Boot) }

// reboots are the restarts that are asked for.
func reboots(e *Env) profiles.Reboots {
	r := e.Spec.Reboots
	if e.Machine.Reboots > 0 {
		r.Count = e.Machine.Reboots
	}
	if r.Kind == "" {
		r.Kind = profiles.Warm
	}
	return r
}

func (s rebootCycle) Done(ctx context.Context, e *Env) (bool, error) {
	want := reboots(e)
	if want.Count == 0 {
		return true, nil
	}
	meta, _, err := e.Store.Meta()
	if err != nil || len(meta.Boots) >= want.Count {
		return err == nil, err
	}
	failed, err := handover{}.failed(ctx, e)
	if failed && len(meta.Boots) == 0 && e.Facts[factReboot] == "" && e.Spec.OnFail != profiles.Continue {
		e.Facts[FactReboots] = fmt.Sprintf("none of %d: it failed before", want.Count)
		return true, nil
	}
	return false, err
}

func (s rebootCycle) Do(ctx context.Context, e *Env) (Facts, error) {
	want := reboots(e)
	for {
		meta, _, err := e.Store.Meta()
		if err != nil || len(meta.Boots) >= want.Count {
			return nil, err
		}
		e.Progress(ctx, zeroTime, "%s start %d of %d", want.Kind, len(meta.Boots)+1, want.Count)
		if err := s.cycle(ctx, e, len(meta.Boots)+1, want); err != nil {
			return nil, err
		}
	}
}

// cycle is one restart and the look behind it. Whoever is interrupted in it goes on with
// the same one.
func (s rebootCycle) cycle(ctx context.Context, e *Env, n int, want profiles.Reboots) error {
	r, err := s.begin(ctx, e, n)
	if err != nil {
		return err
	}
	c, err := e.Client(ctx)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, rebootMax)
	defer cancel()
	watch := e.watchBoot(limited, c, r.name())
	id, err := s.restart(limited, e, c, r, want.Kind)
	err = watch.end(err)
	if stuck, ok := errors.AsType[*Stuck](err); ok && stuck.cause != nil {
		stuck.Why = fmt.Sprintf("%s start %d of %d: %s", want.Kind, n, want.Count, stuck.Why)
		err = e.lost(ctx, err, watch.console.Bytes())
	}
	if err != nil {
		return err
	}
	return s.look(ctx, e, burnin.Boot{Boot: n, Kind: want.Kind, From: r.BootID, BootID: id, Down: r.At, Up: time.Now()})
}

// begin makes the restart durable, with the boot in which the machine is before it.
func (s rebootCycle) begin(ctx context.Context, e *Env, n int) (r restarting, err error) {
	if text := e.Facts[factReboot]; text != "" {
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			return r, fmt.Errorf("fact %s: %w", factReboot, err)
		}
	}
	if r.Boot == n {
		return r, nil
	}
	e.DropNode()
	node, err := e.Node(ctx)
	if err != nil {
		return r, err
	}
	if err := burnin.Idle(ctx, node, burnin.Claim{Run: string(e.Run), Attempt: e.Attempt, Owner: Operator()}); err != nil {
		return r, burnWaits(err)
	}
	host, err := askHost(ctx, node, e.Profile)
	switch {
	case err != nil:
		return r, err
	case host.bootID == "":
		return r, &Stuck{Why: "the host does not tell in which boot it is, so nothing would show that it was restarted", Do: "Mount /proc in the image."}
	}
	r = restarting{Boot: n, BootID: host.bootID, At: time.Now().UTC()}
	text, err := asJSON(r)
	if err != nil {
		return r, err
	}
	return r, e.Learn(ctx, Facts{factReboot: text})
}

// look waits for what comes up behind SSH, and stores what is there, and what the BMC has
// logged by then: firmware tells there what it found when it trained memory and links.
func (rebootCycle) look(ctx context.Context, e *Env, b burnin.Boot) error {
	if err := (sleeper{}).Pause(ctx, upPolls*e.poll()); err != nil {
		return err
	}
	log := (&bmcSource{env: e, since: e.logSince()}).log(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := e.Store.Add(log); err != nil {
		return err
	}
	shell := &burnin.Redialer{
		Dial: func(ctx context.Context) (burnin.Shell, error) { return e.open.node(ctx, e.Machine, e.Facts) },
		Log:  e.Log,
	}
	if err := shell.Start(ctx); err != nil {
		return err
	}
	defer func() { _ = shell.Close() }()
	node := &burnin.Node{Shell: shell, Origin: burnin.FromSSH, Probes: burnin.Probes(), Profile: e.Profile, Log: e.Log}
	node.Progress = func(p burnin.Progress) { e.Progress(ctx, zeroTime, "start %d: %s", b.Boot, p.Doing) }
	return burnWaits(burnin.CollectBoot(ctx, node, e.Store, b))
}

// Plan implements Planner.
func (rebootCycle) Plan(_ context.Context, e *Env) ([]Change, error) {
	want := reboots(e)
	if want.Count == 0 {
		return nil, nil
	}
	return []Change{{Step: "reboot-cycle", What: string(want.Kind) + " restarts", Want: fmt.Sprint(want.Count)}}, nil
}
