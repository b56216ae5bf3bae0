package provision

import (
	"context"
	"errors"
	"fmt"

	"github.com/rackproof/rackproof/redfish"
)

// credentials gives the BMC the new password of the batch, which lies in the user's store
// before the run begins. The old one stays where it is and counts until the new one has
// logged in; from then on every step, also of the next attempt or run, logs in with the
// new one. What is journaled is that it was to be set and that it was proven, never a
// password.
type credentials struct{}

func (credentials) Name() string { return "credentials" }

// passwordNew is FactPassword where the BMC takes the new password.
const passwordNew = "new"

// withNewPassword is the machine as it is logged in to since its password was changed.
func (m Machine) withNewPassword(f Facts) Machine {
	if m.Login.New != "" && f[FactPassword] == passwordNew {
		m.Login.Password = m.Login.New
	}
	return m
}

// byNewPassword logs in with the new password of the batch where the BMC refused the
// old: a run before may have set it. Each is sent once; err is that of the old.
func (e *Env) byNewPassword(ctx context.Context, err error) (BMC, error) {
	m := e.Machine
	if m.Login.New == "" || m.Login.New == m.Login.Password || !errors.Is(err, redfish.ErrAuth) {
		return nil, err
	}
	m.Login.Password = m.Login.New
	c, newErr := e.open.bmc(ctx, m)
	if newErr != nil {
		if stuck, ok := errors.AsType[*Stuck](err); ok && errors.Is(newErr, redfish.ErrAuth) {
			both := *stuck
			both.Why += "; the new password of the batch is refused too"
			return nil, &both
		}
		return nil, err
	}
	e.Log.Info("the BMC has its new password already")
	e.Machine, e.Facts[FactPassword] = m, passwordNew
	return c, nil
}

func (credentials) Done(ctx context.Context, e *Env) (bool, error) {
	if e.Machine.Login.New == "" {
		return true, nil
	}
	if in, cut := e.intents[actPassword]; e.Facts[FactPassword] == "" && cut && !in.Acted {
		return false, nil // the old one may not count any more: Do finds out, without a guess
	}
	if _, err := e.Client(ctx); err != nil { // with the new password, as soon as that is known
		return false, err
	}
	return e.Facts[FactPassword] == passwordNew, nil
}

func (credentials) Do(ctx context.Context, e *Env) (Facts, error) {
	if e.Machine.Login.Protocol.IPMI() || e.open.login == nil {
		return nil, &Stuck{Why: fmt.Sprintf("BMC %s: a password is changed over Redfish alone", e.Machine.BMC), Do: "Change it by hand, or take new_password out of the batch."}
	}
	e.dropClient() // its session ends with the old password
	cfg, err := e.open.login(ctx, e.Machine)
	if err != nil {
		return nil, err
	}
	m := e.Machine
	m.Login.Password = m.Login.New
	to, err := e.open.login(ctx, m) // it is hidden from now on, wherever it appears
	if err != nil {
		return nil, err
	}
	if to.Password != cfg.Password {
		done, err := Rotation{Config: cfg, Password: to.Password, Store: givenPassword{e, to.Password}, Secrets: e.secrets}.Run(ctx)
		if err != nil {
			return nil, rotationStuck(e.Machine, err)
		}
		if done.Note != "" {
			e.Log.Warn("new password", "note", done.Note)
		}
	}
	e.Machine = m
	return nil, e.Learn(ctx, Facts{FactPassword: passwordNew})
}

// rotationStuck says what a person does about a password that was not changed.
func rotationStuck(m Machine, err error) error {
	switch {
	case errors.Is(err, redfish.ErrBadValue), errors.Is(err, redfish.ErrAuth), errors.Is(err, redfish.ErrUnsupported):
		return &Stuck{
			Why: fmt.Sprintf("new password of BMC %s: %v", m.BMC, err),
			Do:  "The old password and the new one are both where the batch says; put a new one there that the BMC takes, or set right by hand which of them counts, then resume.",
		}
	default:
		return fmt.Errorf("new password of BMC %s: %w", m.BMC, err)
	}
}

// actPassword names the change in the journal.
const actPassword = "new password"

// givenPassword is the store of a password that is in the user's own already: what is
// kept durably is that the change was begun, and that it was proven.
type givenPassword struct {
	env      *Env
	password string
}

// Write implements PasswordStore.
func (s givenPassword) Write(ctx context.Context, _ string) error {
	in := Intent{Act: actPassword, Mark: string(s.env.Machine.Login.New)}
	if err := s.env.rec.Record(ctx, Intended, in); err != nil {
		return err
	}
	s.env.intents[actPassword] = in
	return nil
}

// Waiting implements PasswordStore.
func (s givenPassword) Waiting(context.Context) (string, bool, error) {
	in, begun := s.env.intents[actPassword]
	return s.password, begun && !in.Acted, nil
}

// Settle implements PasswordStore. Where the BMC did not take the new password, the
// intent stays: it is asked for again before anything is done.
func (s givenPassword) Settle(ctx context.Context, password string) error {
	if password != s.password {
		return nil
	}
	return s.env.acted(ctx, s.env.intents[actPassword])
}

// Plan implements Planner.
func (credentials) Plan(ctx context.Context, e *Env) ([]Change, error) {
	if e.Machine.Login.New == "" {
		return nil, nil
	}
	if _, err := e.Client(ctx); err != nil || e.Facts[FactPassword] == passwordNew {
		return nil, err
	}
	return []Change{{Step: "credentials", What: "password", Now: string(e.Machine.Login.Password), Want: string(e.Machine.Login.New) + ", proven by a login"}}, nil
}
