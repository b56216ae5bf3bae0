package provision

import (
	"context"
	"errors"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/redfish"
)

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
		Name: r.name() + " restart", Poll: e.poll(), Settle: settlePolls * e.poll(), Deadline: rebootMax, Inrush: true,
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
