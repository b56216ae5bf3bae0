package provision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/rackproof/rackproof/redfish"
)

// Rung is the error by which a step says that its BMC or its way to boot was the trouble,
// and that it is to be tried again because something was done about it.
type Rung struct{ Why string }

func (r *Rung) Error() string { return r.Why }

const (
	actBMCReset = "bmc cold reset"

	// FactBMCReset says that and how the BMC was restarted in this attempt.
	FactBMCReset = "bmc_reset"
	// factBootTried are the boot methods by which the host did not come up.
	factBootTried = "boot_tried"

	bmcBackDefault = 15 * time.Minute // for a BMC that was restarted to answer again
	resetPolls     = 10               // before it is asked: it answers for a while yet
)

// noReset in Limits.BMCReset switches the reset off.
const noReset Duration = -1

// errNoBoot is the cause of a Stuck of a host that was started and showed no boot.
var errNoBoot = errors.New("no boot was seen")

// climb does what helps against a BMC that is at fault, one rung at a time: the tries of the
// step, one cold reset of the BMC in an attempt, another boot method where the batch leaves
// it open, then STUCK. Any other error is returned as it is, and so is one before it is
// proven whose BMC it is.
func (e *Env) climb(ctx context.Context, t Task, info StepInfo, err error) error {
	lost := errors.Is(err, errNoBoot)
	if err == nil || ctx.Err() != nil || t.Facts[FactPrint] == "" || !lost && !redfish.Sick(err) {
		return err
	}
	if t.Try < t.Step.Tries {
		return &Rung{Why: err.Error()}
	}
	may := !info.KeepBMC && !info.Loads && e.Batch.Limits.BMCReset != noReset && e.open.reset != nil
	if may && t.Facts[FactBMCReset] == "" {
		return e.resetBMC(ctx, t, err)
	}
	if lost {
		if next := e.otherBoot(ctx, t); next != nil {
			return next
		}
	} else if !may {
		return err
	}
	return &Stuck{
		Why:   fmt.Sprintf("%s: %s. Tried before: %s", t.Step.Name, strings.TrimRight(err.Error(), "."), e.tried(t)),
		Do:    "Pull the power cords for 60 s; if the BMC is the same then, update its firmware or have it exchanged.",
		Anew:  lost,
		cause: err,
	}
}

// Ladder says what a run of the batch does about a BMC that does not answer.
func Ladder(b *Batch) string {
	reset := fmt.Sprintf("one cold reset of the BMC (%s to come back)", Took(b.bmcBack()))
	if b.Limits.BMCReset == noReset {
		reset = "no reset of the BMC"
	}
	return "a BMC that does not answer, or a boot that is not seen: the step's tries, " + reset + ", another boot method where it is auto, then STUCK"
}

// bmcBack is how long a BMC that was reset may take to answer again.
func (b *Batch) bmcBack() time.Duration {
	if limit := time.Duration(b.Limits.BMCReset); limit > 0 {
		return limit
	}
	return bmcBackDefault
}

// tried tells the rungs that are behind.
func (e *Env) tried(t Task) string {
	rungs := []string{fmt.Sprintf("the step %d times", max(t.Try-1, t.Step.Tries))}
	rungs = append(rungs, or(e.Facts[FactBMCReset], "no reset of the BMC"))
	if methods := e.Facts[factBootTried]; methods != "" {
		rungs = append(rungs, "booting by "+methods)
	}
	return strings.Join(rungs, "; ")
}

// resetBMC restarts the BMC, once, waits until the same BMC answers again, and has the step
// tried again. A reset of which nobody knows whether it was sent counts as sent.
func (e *Env) resetBMC(ctx context.Context, t Task, why error) error {
	began, how, unsent := time.Now(), "", false
	err := e.Act(ctx, Act{
		Name: actBMCReset, Poll: e.poll(),
		Mark: func(ctx context.Context) (string, error) { return string(e.hostPower(ctx)), nil },
		Seen: func(context.Context, string) (Sight, error) {
			if unsent {
				return Absent, nil
			}
			return Happened, nil
		},
		Do: func(ctx context.Context) error {
			e.dropClient()
			sent := false
			var err error
			sent, how, err = e.open.reset(ctx, e.Machine)
			unsent = !sent
			return err
		},
	})
	if err != nil && unsent {
		return &Stuck{
			Why: fmt.Sprintf("%s: %v. The BMC could not be reset either: %v", t.Step.Name, why, err), Looked: true,
			Do: "Reset the BMC by hand, or pull the power cords for 60 s.",
		}
	}
	if err != nil {
		return err
	}
	before := redfish.PowerState(e.intents[actBMCReset].Mark)
	if stuck := e.awaitBMC(ctx, before); stuck != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		took := fmt.Sprintf("a cold reset of the BMC, %s", Took(time.Since(began)))
		return errors.Join(e.Learn(ctx, Facts{FactBMCReset: took}), stuck)
	}
	took := fmt.Sprintf("a cold reset of the BMC%s in step %s, %s", how, t.Step.Name, Took(time.Since(began)))
	if err := e.Learn(ctx, Facts{FactBMCReset: took}); err != nil {
		return err
	}
	return &Rung{Why: fmt.Sprintf("%v; %s, and the same BMC answers again", why, took)}
}

// hostPower is that of the host, PowerUnknown where the BMC does not say.
func (e *Env) hostPower(ctx context.Context) redfish.PowerState {
	if e.bmc == nil {
		return redfish.PowerUnknown
	}
	ctx, cancel := context.WithTimeout(ctx, resetPolls*e.poll())
	defer cancel()
	state, err := e.bmc.Power(ctx)
	if err != nil {
		return redfish.PowerUnknown
	}
	return state
}

// awaitBMC waits until the machine's BMC answers again, twice, as the same one, and its host
// is as it was.
func (e *Env) awaitBMC(ctx context.Context, before redfish.PowerState) error {
	limit := e.Batch.bmcBack()
	if err := (sleeper{}).Pause(ctx, resetPolls*e.poll()); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	e.Progress(ctx, time.Now().Add(limit), "the BMC was reset; waits for it")
	var last error
	good := 0
	err := e.WaitFor(waiting, e.poll(), Stuck{}, func() (bool, error) {
		state, err := e.lookAgain(waiting)
		switch {
		case waiting.Err() != nil && ctx.Err() == nil:
			return false, nil // the time is up: so says WaitFor
		case err != nil && redfish.Sick(err):
			last, good = err, 0
			e.dropClient()
			return false, nil
		case err != nil:
			return false, err
		case steady(before) && steady(state) && before != state:
			return false, &Stuck{Why: fmt.Sprintf("the host was %s before its BMC was reset and is %s now", before, state), Do: "Find out what switched it; the run goes on from how it is."}
		}
		good++
		return good > 1, nil
	})
	if stuck, ok := errors.AsType[*Stuck](err); ok && stuck.Why == "" {
		stuck.Why = fmt.Sprintf("the BMC was reset and did not come back within %s", Took(limit))
		if last != nil {
			stuck.Why += ": " + last.Error()
		}
		stuck.Do = "Pull the power cords for 60 s, then look at the BMC's link LED."
	}
	return err
}

func steady(s redfish.PowerState) bool { return s == redfish.On || s == redfish.Off }

// lookAgain asks the BMC who it is and how its host is.
func (e *Env) lookAgain(ctx context.Context) (redfish.PowerState, error) {
	c, err := e.Client(ctx)
	if err != nil {
		return redfish.PowerUnknown, err
	}
	id, err := c.Identity(ctx)
	if err != nil {
		return redfish.PowerUnknown, err
	}
	if err := e.sameMachine(id, "since its reset"); err != nil {
		return redfish.PowerUnknown, err
	}
	return c.Power(ctx)
}

// otherBoot chooses the next way to boot, where the batch leaves that open and the BMC and
// the batch allow another one.
func (e *Env) otherBoot(ctx context.Context, t Task) error {
	now := BootMethod(e.Facts[FactBoot])
	if m := e.Machine.Boot.Method; m != BootAuto && m != "" || t.Step.Name != (boot{}).Name() {
		return nil
	}
	c, err := e.Client(ctx)
	if err != nil {
		return err
	}
	if now == "" {
		if now, _, err = e.method(ctx, c); err != nil {
			return err
		}
	}
	tried := append(strings.FieldsFunc(e.Facts[factBootTried], func(r rune) bool { return r == ',' || r == ' ' }), string(now))
	ways, err := e.ways(ctx, c)
	if err != nil {
		return err
	}
	for _, next := range ways {
		if slices.Contains(tried, string(next)) {
			continue
		}
		if now == BootMedia {
			e.emptyDrive(ctx, c)
		}
		if err := e.Learn(ctx, Facts{FactBoot: string(next), factBootTried: strings.Join(tried, ", ")}); err != nil {
			return err
		}
		return &Rung{Why: fmt.Sprintf("no boot was seen by %s; tried by %s next", strings.Join(tried, ", "), next)}
	}
	e.Facts[factBootTried] = strings.Join(tried, ", ")
	return nil
}

// ways are the boot methods that BMC and batch offer for an image of ours, in their order.
func (e *Env) ways(ctx context.Context, c BMC) (ways []BootMethod, err error) {
	b, err := c.Boot(ctx)
	if err != nil {
		return nil, err
	}
	http, _, err := e.offersHTTP(ctx, c, b)
	if err != nil {
		return nil, err
	}
	if http {
		ways = append(ways, BootUEFIHTTP)
	}
	if e.Boot.HasProgram(e.Machine.Boot.Image) && offersMedia(ctx, c, b) {
		ways = append(ways, BootMedia)
	}
	if b.Supported && e.Batch.Netboot.fixed() && e.Machine.MAC != "" {
		ways = append(ways, BootPXE)
	}
	return ways, nil
}

// emptyDrive takes the image out of the virtual drive from which nothing booted.
func (e *Env) emptyDrive(ctx context.Context, c BMC) {
	b, err := e.imageBoot(ctx, c, BootMedia)
	if err == nil && b.drive != nil {
		err = b.drive.eject(ctx)
	}
	if err != nil {
		e.Log.Warn("the virtual drive is not empty", "err", err)
	}
}

// resetOverAny restarts the BMC of m by its protocol; where Redfish is what hangs, by IPMI.
func (b *Bench) resetOverAny(ctx context.Context, m Machine) (sent bool, how string, err error) {
	cfg, err := b.bmcConfig(ctx, m)
	if err != nil {
		return false, "", err
	}
	if m.Login.Protocol.IPMI() {
		cfg.IPMITool = m.Login.Protocol == OverIPMITool
		sent, err = redfish.ResetBMCByIPMI(ctx, cfg)
		return sent, " over IPMI", err
	}
	sent, err = redfish.ResetBMC(ctx, cfg)
	if err == nil || sent || m.Via != "" || !redfish.Sick(err) { // UDP passes no bastion
		return sent, "", err
	}
	if host, _, split := net.SplitHostPort(cfg.Addr); split == nil {
		cfg.Addr = host
	}
	sent, ierr := redfish.ResetBMCByIPMI(ctx, cfg)
	if ierr != nil {
		return sent, " over IPMI", fmt.Errorf("by Redfish: %w; over IPMI: %w", err, ierr)
	}
	return sent, " over IPMI", nil
}

// bmcReset reads limits.bmc_reset: off, or how long a BMC may take to come back.
func (l *loader) bmcReset(n ast.Node) {
	to := &l.batch.Limits.BMCReset
	if b, ok := n.(*ast.BoolNode); ok && !b.Value || strings.EqualFold(n.String(), "off") {
		*to = noReset
		return
	}
	l.duration(to)(n)
	if *to <= 0 {
		l.problem(n, "bmc_reset %s: write off, or how long a BMC that was reset may take to answer again: 15 min", quoteNode(n))
	}
}
