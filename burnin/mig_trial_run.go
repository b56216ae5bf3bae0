package burnin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// tryMIG makes the profile's layout on every GPU behind all that is measured: MIG takes
// NVLink away, and the reset that switching it needs sets counters back. What runs on the
// node goes on without us, and puts the GPUs back when nobody waits for it.
func (b *burn) tryMIG(ctx context.Context) error {
	i := slices.IndexFunc(b.Loads, func(l Load) bool { return l.Name == migTrialName })
	p := b.node.profile()
	if i < 0 || p.GPU.MIGLeave == "" || b.Store.Has(PhaseAfter, migTrialName) {
		return nil
	}
	l := b.Loads[i]
	e := &Evidence{
		Probe: l.Name, Phase: PhaseAfter, Command: l.Command(p, migTrialTime), Source: b.node.Origin, Started: time.Now(),
		BootID: b.facts.BootID, Ended: EndedNoTool, StandIn: b.facts.StandsIn(l.Tool), Simulated: b.facts.Simulated(),
	}
	if p.GPU.MIGLeave == profiles.MIGLeft && b.Reboots > 0 {
		e.Command = migTrial(Consent{Refused: "instances that are to be left would not outlive the restarts behind them: leave out one of both"})(p, 0)
	}
	if !b.facts.Has(l.Tool) {
		return b.Store.Add(e)
	}
	claim := Claim{Run: b.Run, Attempt: b.Attempt, Owner: b.Owner, DeadMan: b.DeadMan, Root: b.Root}
	folder, err := acquire(ctx, b.node.Shell, claim)
	if err != nil {
		return err
	}
	err = b.watchMIG(ctx, folder, e)
	if err != nil && errors.Is(context.Cause(ctx), ErrDetach) {
		return err
	}
	b.leaveNode(ctx)
	if err != nil {
		b.note("the trial of the MIG layout was left: the node puts its GPUs back by itself. Look with nvidia-smi -L")
		return err
	}
	return b.Store.Add(e)
}

// watchMIG runs the trial, or finds it running, and fills in e when it has ended.
func (b *burn) watchMIG(ctx context.Context, folder *nodeFolder, e *Evidence) error {
	longest := 2 * migTrialTime // putting back may take past its end
	if err := folder.start(ctx, migTrialName, "load", e.Command, longest); err != nil {
		return err
	}
	files := map[string][]byte{}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for late := time.Now().Add(longest + overtime); ; {
		report, err := pollInto(ctx, folder, files)
		if errors.Is(err, errNoFolder) { // restarted: what was changed is not known to be put back
			e.Ended = EndedLost
			break
		}
		if err != nil {
			return err
		}
		u := unitOf(report.units, migTrialName)
		if u.over() && len(report.chunks) == 0 {
			e.Ended, e.Seconds = EndedSignal, u.seconds
			if u.state == "exit" {
				e.Ended, e.Exit = EndedExit, &u.exit
			}
			break
		}
		if time.Now().After(late) {
			e.Ended = EndedTimeout
			break
		}
		b.node.tell(Progress{Phase: PhaseAfter, Doing: migTrialName, Left: max(time.Until(late), 0)})
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	unit := "units/" + migTrialName + "/"
	e.Out, e.Err = files[unit+"out"], files[unit+"err"]
	return nil
}

// pollInto polls and appends what it brings to files. A node that does not answer in time
// is asked once more.
func pollInto(ctx context.Context, folder *nodeFolder, files map[string][]byte) (*report, error) {
	offsets := map[string]int64{}
	for name := range maps.Keys(files) {
		offsets[name] = int64(len(files[name]))
	}
	report, err := folder.poll(ctx, offsets)
	if errors.Is(err, errSlow) && ctx.Err() == nil {
		report, err = folder.poll(ctx, offsets)
	}
	if err != nil {
		return nil, err
	}
	for _, c := range report.chunks {
		if c.offset != int64(len(files[c.file])) {
			return nil, fmt.Errorf("%s on the node continues at %d, want %d", c.file, c.offset, len(files[c.file]))
		}
		files[c.file] = append(files[c.file], c.data...)
	}
	return report, nil
}

// migNotice says what the trial changes, where it will be made.
func migNotice(writes string, f *Facts, loads []Load, p *profiles.Profile) string {
	if !f.Has("nvidia-smi") || p.GPU.MIGLeave == "" || !slices.ContainsFunc(loads, func(l Load) bool { return l.Behind }) {
		return writes
	}
	change := fmt.Sprintf("CHANGES a setting: at the end MIG is switched on and %s made on each of %s, one after the other, if nothing works on them;", p.GPU.MIGLayout, plural(f.GPUs, "GPU"))
	if p.GPU.MIGLeave == profiles.MIGLeft {
		return strings.NewReplacer("Changes no setting.", change+" that stays.", " Leaves nothing.", "").Replace(writes)
	}
	return strings.Replace(writes, "Changes no setting.", change+" then all is put back.", 1)
}
