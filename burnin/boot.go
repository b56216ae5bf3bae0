package burnin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// Boot is one start of a machine in its reboot cycles. What was looked at behind it is
// the evidence of its phase.
type Boot struct {
	Boot   int                 `json:"boot"` // from 1
	Kind   profiles.RebootKind `json:"kind"`
	From   string              `json:"from"` // boot id in which the restart was ordered
	BootID string              `json:"boot_id"`
	Down   time.Time           `json:"down"` // when the restart was ordered
	Up     time.Time           `json:"up"`   // when the machine answered again
}

// Phase is where the evidence of the boot is: boot-01.
func (b Boot) Phase() Phase { return Phase(fmt.Sprintf("boot-%02d", b.Boot)) }

// when names a boot for people: "boot 4 (2026-03-01 10:20 UTC)".
func (b Boot) when() string {
	return fmt.Sprintf("boot %d (%s)", b.Boot, b.Up.UTC().Format("2006-01-02 15:04 UTC"))
}

// isBoot reports whether a phase is that of a boot.
func isBoot(p Phase) bool { return strings.HasPrefix(string(p), "boot-") }

// runsIn reports whether a probe is run in a phase. Behind a boot only those run that a
// check asks of every boot.
func (p ProbeSpec) runsIn(phase Phase) bool {
	if !isBoot(phase) {
		return slices.Contains(p.Phases, phase)
	}
	return p.Name == OSInfo.Spec.Name || slices.ContainsFunc(Checks(), func(c Check) bool { return c.AtBoot != nil && slices.Contains(c.Probes, p.Name) })
}

// CollectBoot stores what the machine shows behind a boot. The boot is on record when all
// of it is stored; a boot that is there already is measured anew. It is an error when the
// machine is not in the boot that b names.
func CollectBoot(ctx context.Context, n *Node, store *Store, b Boot) error {
	facts, err := n.Facts(ctx)
	if err != nil {
		return err
	}
	if facts.BootID == "" || facts.BootID != b.BootID {
		return fmt.Errorf("%s: the machine is in boot %q and not in %q: it was started again since", b.when(), facts.BootID, b.BootID)
	}
	if _, err := n.collect(ctx, b.Phase(), nil, store.Add); err != nil {
		return fmt.Errorf("phase %s: %w", b.Phase(), err)
	}
	meta, there, err := store.Meta()
	if err != nil {
		return err
	}
	if !there {
		return errors.New("a boot was looked at before the attempt began")
	}
	meta.Boots = append(slices.DeleteFunc(meta.Boots, func(o Boot) bool { return o.Boot == b.Boot }), b)
	if !meta.Ended.IsZero() {
		meta.Ended = time.Now()
	}
	return store.SetMeta(meta)
}

// Reboot restarts a machine by its operating system, where it is still in the boot that
// is named: asked twice, it restarts once. It returns when the restart is ordered; the
// connection may be lost before the answer.
func Reboot(ctx context.Context, sh Shell, bootID string) error {
	out, err := sh.Run(ctx, Command{Line: nodeLine("reboot", []string{bootID}, rebootScript), Deadline: askLimit})
	if err != nil {
		return err
	}
	if answer := strings.TrimSpace(string(out.Out)); answer != "ordered" && answer != "other boot" {
		return fmt.Errorf("the machine does not take the order to restart (%s)%s%s: it needs root, or sudo without a password", endWords(out), firstLine(out.Out), firstLine(out.Err))
	}
	return nil
}

const rebootScript = `
[ "$(cat /proc/sys/kernel/random/boot_id)" = "$1" ] || { echo 'other boot'; exit 0; }
root=
[ "$(id -u)" = 0 ] || root='sudo -n'
if command -v systemctl >/dev/null 2>&1; then $root systemctl reboot; else $root reboot; fi && echo ordered`

// Idle is nil where a restart takes nothing from anybody: no GPU works for somebody else
// (ErrGPUBusy), and no run of rackproof holds the node (*HeldError), this one's own load
// included.
func Idle(ctx context.Context, sh Shell, c Claim) error {
	if err := gpusIdle(ctx, sh); err != nil {
		return err
	}
	folder, err := acquire(ctx, sh, c)
	if err != nil {
		return err
	}
	if folder.again && folder.ended == "" {
		return &HeldError{Owner: c.Owner, Run: c.Run, Host: "the machine", Busy: true, Since: "its load began"}
	}
	_, err = ReleaseNode(ctx, sh, c.Root, c.Run)
	return err
}

// bootsOpen says what is missing of the boots that the spec asks for; nil when nothing is.
func bootsOpen(rec *Record, s *profiles.Spec) *NotRun {
	if s.Reboots.Count <= 0 || rec.Meta.Coverage == CoverPartial {
		return nil
	}
	proven := 0
	for _, b := range provenBoots(rec) {
		if s.Reboots.Proves(b.Kind) {
			proven++
		}
	}
	if proven >= s.Reboots.Count {
		return nil
	}
	return &NotRun{
		Check: "reboots", Quantity: "count", Part: machinePart.Name, Scope: s.ScopeOf("reboots", "count"),
		Why: fmt.Sprintf("looked at in %d of the %d %s boots that spec %s asks for", proven, s.Reboots.Count, firstWord(string(s.Reboots.Kind), string(profiles.Warm)), s.Name),
	}
}

// provenBoots are the boots of a record whose evidence is of a boot of its own.
func provenBoots(rec *Record) []Boot {
	seen := map[string]bool{}
	for _, e := range rec.Evidence {
		if slices.Contains(machinePhases, e.Phase) {
			seen[e.BootID] = true
		}
	}
	var out []Boot
	for _, b := range rec.Meta.Boots {
		os := rec.find(b.Phase(), OSInfo.Spec.Name, "")
		if b.BootID != "" && os != nil && os.BootID == b.BootID && !seen[b.BootID] {
			out = append(out, b)
		}
		seen[b.BootID] = true
	}
	return out
}
