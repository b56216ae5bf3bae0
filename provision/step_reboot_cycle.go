package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/redfish"
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

func (s rebootCycle) Done(_ context.Context, e *Env) (bool, error) {
	want := reboots(e)
	if want.Count == 0 {
		return true, nil
	}
	meta, _, err := e.Store.Meta()
	if err != nil || len(meta.Boots) >= want.Count {
		return err == nil, err
	}
	failed, err := handover{}.failed(e)
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
	return s.look(ctx, e, burnin.Boot{Boot: n, Kind: want.Kind, BootID: id, Down: r.At, Up: time.Now()})
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
	if err := burnin.Idle(ctx, node, burnin.Claim{Run: string(e.Run), Attempt: e.Attempt, Owner: person()}); err != nil {
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

// restart brings the machine into another boot and returns that boot's id.
func (s rebootCycle) restart(ctx context.Context, e *Env, c BMC, r restarting, kind profiles.RebootKind) (id string, err error) {
	eject, err := s.ready(ctx, e, c, r)
	if err != nil {
		return "", err
	}
	if kind == profiles.Cold {
		err = s.cold(ctx, e, c, r)
	} else {
		err = s.warm(ctx, e, r)
	}
	if err != nil {
		return "", err
	}
	var last error
	stuck := Stuck{Suspect: true, cause: burnin.ErrNodeLost}
	err = e.WaitFor(ctx, e.poll()/2, stuck, func() (bool, error) {
		id, last, err = s.cameBack(ctx, e, r)
		return id != "", err
	})
	if st, ok := errors.AsType[*Stuck](err); ok && st.Why == "" {
		st.Why = "the host did not come up"
		if last != nil {
			st.Why += ": " + last.Error()
		}
	}
	if err != nil {
		return "", err
	}
	return id, eject(ctx)
}

// ready makes the next start of the host the same as its first: an image of ours is booted
// once more, and an installed system that the batch wants is named again.
func (rebootCycle) ready(ctx context.Context, e *Env, c BMC, r restarting) (eject func(context.Context) error, err error) {
	eject = func(context.Context) error { return nil }
	method := BootMethod(e.Facts[FactBoot])
	override := r.name() + " " + actOverride
	if method == BootDisk {
		act := e.overrideAct(c, redfish.Boot{Target: "Hdd", Enabled: "Once"}, nil)
		act.Name = override
		if err := e.Act(ctx, act); !errors.Is(err, redfish.ErrUnsupported) {
			return eject, err
		}
	}
	if !method.fromUs() {
		return eject, nil
	}
	if err := e.StartBoot(ctx); err != nil {
		return eject, err
	}
	b, err := e.imageBoot(ctx, c, method)
	if err != nil {
		return eject, err
	}
	b.again = r.name() + " "
	if _, begun := e.intents[override]; !begun {
		if err := e.Boot.Again(b.token); err != nil {
			return eject, err
		}
	}
	if b.drive != nil {
		eject = b.drive.eject
	}
	return eject, b.ready(ctx, e, c)
}

// warm lets the operating system restart the machine. Another boot id shows that it did.
func (s rebootCycle) warm(ctx context.Context, e *Env, r restarting) error {
	return e.Act(ctx, Act{
		Name: r.name() + " restart", Poll: e.poll(), Settle: settlePolls * e.poll(), Deadline: rebootMax,
		Mark: func(context.Context) (string, error) { return r.BootID, nil },
		Seen: func(ctx context.Context, mark string) (Sight, error) {
			e.DropNode()
			node, err := e.Node(ctx)
			if err != nil {
				return CannotTell, err
			}
			host, err := askHost(ctx, node, e.Profile)
			switch {
			case err != nil || host.bootID == "":
				return CannotTell, err
			case host.bootID == mark:
				return Absent, nil
			}
			return Happened, nil
		},
		Do: func(ctx context.Context) error {
			node, err := e.Node(ctx)
			if err != nil {
				return err
			}
			return burnin.Reboot(ctx, node, r.BootID)
		},
	})
}

// cold takes the machine off, leaves it off for a while, and switches it on.
func (rebootCycle) cold(ctx context.Context, e *Env, c BMC, r restarting) error {
	on := r.name() + " on"
	if err := e.Act(ctx, e.switchAct(c, r.name()+" off", redfish.PowerOff, redfish.Off)); err != nil {
		return err
	}
	if _, begun := e.intents[on]; !begun {
		if err := (sleeper{}).Pause(ctx, offPolls*e.poll()); err != nil {
			return err
		}
	}
	return e.Act(ctx, e.switchAct(c, on, redfish.PowerOn, redfish.On))
}

// cameBack returns the id of the new boot once the host answers from it and has shown
// again who it is; why says why it is not there yet.
func (rebootCycle) cameBack(ctx context.Context, e *Env, r restarting) (id string, why, err error) {
	if live(e) {
		if !e.bootIsUp() {
			return "", errors.New("the image has not said that it is up"), nil
		}
		t, _ := e.Boot.Find(e.Machine.Name, e.Attempt)
		e.Facts[FactHost] = or(t.Up.Address, e.Facts[FactHost])
	}
	e.DropNode()
	node, err := e.Node(ctx)
	var host hostIdentity
	if err == nil {
		host, err = askHost(ctx, node, e.Profile)
	}
	switch {
	case err != nil && waitSSH{}.mayCome(e, err):
		return "", err, nil
	case err != nil:
		return "", nil, err
	case host.bootID == "" || host.bootID == r.BootID:
		return "", errors.New("the host answers from the boot before"), nil
	}
	if err := crossed(e, host.uuid, "the host that came back"); err != nil {
		return "", nil, waitSSH{}.keepIdentity(ctx, e, err)
	}
	if e.Facts[FactProof] != "" && provenBy(e, host) == "" {
		return "", nil, unproven(e, host)
	}
	return host.bootID, nil, nil
}

// look waits for what comes up behind SSH, and stores what is there.
func (rebootCycle) look(ctx context.Context, e *Env, b burnin.Boot) error {
	if err := (sleeper{}).Pause(ctx, upPolls*e.poll()); err != nil {
		return err
	}
	shell := &burnin.Redialer{
		Dial: func(ctx context.Context) (burnin.Shell, error) { return e.open.node(ctx, e.Machine, e.Facts) },
		Log:  e.Log,
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
