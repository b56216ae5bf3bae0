package provision

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/shell"
)

// destroyer is a Step that destroys or sets for good what is on a host: disks, GPU modes, an
// installed system. It acts with a Permit alone, which Env.permit gives; a Burner refuses
// without one. What it destroys is known before it begins: none where a machine is spared.
type destroyer interface {
	Step
	Destroys(*Env) []string
}

// Permit lets one step destroy what it names, on one machine in one attempt of one run. Only a
// host that has just shown again that it is the machine behind its BMC yields one.
type Permit struct {
	run     RunID
	machine string
	attempt int
	what    []string
}

// factProofFor says what FactProof holds for: a proof of another run, machine or plan is none.
const factProofFor = "proof_for"

// proofFor binds a proof to run, machine, attempt, BMC and what the batch lets be destroyed.
func (e *Env) proofFor() string {
	h := sha256.New()
	for _, part := range append([]string{e.Facts[FactUUID], e.Facts[FactBMCMAC], fmt.Sprint(e.Machine.MIGTest), "write"}, e.Machine.WriteDisks...) {
		_, _ = fmt.Fprintf(h, "%q ", part)
	}
	if w := e.Machine.Wipe; w != nil {
		_, _ = fmt.Fprintf(h, "wipe %q %q", w.Level, w.Disks)
	}
	return fmt.Sprintf("run %s, machine %s, attempt %d, plan %x", e.Run, e.Machine.Name, e.Attempt, h.Sum(nil)[:8])
}

// errNoProof is why a Permit is refused where nothing ties host and BMC together.
var errNoProof = errors.New("no proof of host and BMC")

// permit asks the host once more who it is, before a step destroys anything on it. It returns
// nil where the step destroys nothing. A *Stuck with errNoProof says that nothing is proven;
// other errors are of the host, or of two machines that are crossed.
func (e *Env) permit(ctx context.Context, s destroyer, node burnin.Shell) (*Permit, error) {
	what := s.Destroys(e)
	if len(what) == 0 {
		return nil, nil
	}
	refuse := func(why string) error {
		return &Stuck{
			Why: why + ", so " + s.Name() + " touches none of it: " + strings.Join(what, ", "),
			Do:  "Boot it with an image of ours (boot: {image: …}), or put ipmitool on the host.", Next: "rackproof retest " + e.Machine.Name, cause: errNoProof,
		}
	}
	switch is, was := e.proofFor(), e.Facts[factProofFor]; {
	case e.Facts[FactProof] == "":
		return nil, refuse("nothing proves that the host which answers is the machine behind BMC " + e.Machine.BMC)
	case was != is:
		return nil, refuse(fmt.Sprintf("host and BMC were proven one machine for another job (%s) than this (%s)", or(was, "not told"), is))
	}
	host, err := askHost(ctx, node, e.Profile)
	if err != nil {
		return nil, err
	}
	if err := crossed(e, host.uuid, "the host that answers now"); err != nil {
		return nil, err
	}
	if live(e) && host.cmdline != "" && !strings.Contains(host.cmdline, e.tokenWord()) {
		return nil, refuse("the host that answers runs another boot than the one that was proven")
	}
	if provenBy(e, host) == "" {
		return nil, refuse("the host that answers now does not prove any more that it is the machine behind BMC " + e.Machine.BMC)
	}
	return &Permit{run: e.Run, machine: e.Machine.Name, attempt: e.Attempt, what: what}, nil
}

// tokenWord is how a boot of ours shows its token on the kernel's command line.
func (e *Env) tokenWord() string { return "rackproof.token=" + e.Facts[FactToken] }

// unpermitted says what b would destroy and its Permit does not name.
func (b BurnIn) unpermitted() error {
	var what []string
	if b.Consent.Refused == "" {
		what = append(what, diskNames(b.Consent.Disks)...)
		if b.Consent.MIG {
			what = append(what, migWord)
		}
	}
	if b.Wipe != nil {
		what = append(what, diskNames(b.Wipe.Disks)...)
	}
	for _, w := range what {
		if p := b.Permit; p == nil || p.run != b.Run || p.attempt != b.Attempt || p.machine != b.Record.Name || !slices.Contains(p.what, w) {
			return &BrokenError{Err: fmt.Errorf("%s of machine %s would be touched without a proof that this host is that machine; nothing was done", w, b.Record.Name)}
		}
	}
	return nil
}

const migWord = "GPU mode MIG"

func diskNames(serials []string) []string {
	var out []string
	for _, s := range serials {
		out = append(out, "disk "+s)
	}
	return out
}

// lastingNode is a shell on the booted host that is opened anew when its connection is lost.
func (e *Env) lastingNode(ctx context.Context) (*burnin.Redialer, error) {
	node := &burnin.Redialer{
		Dial: func(ctx context.Context) (burnin.Shell, error) { return e.open.node(ctx, e.Machine, e.Facts) },
		Log:  e.Log,
		Note: func(text string) { e.Progress(ctx, zeroTime, "%s", text) },
	}
	if err := node.Start(ctx); err != nil {
		return nil, hostStuck(e.Machine, err)
	}
	return node, nil
}

// hostStuck words a host that another one has taken the place of, or that was booted anew.
func hostStuck(m Machine, err error) error {
	if !errors.Is(err, shell.ErrHostKey) && !errors.Is(err, shell.ErrAuth) {
		return err
	}
	return &Stuck{Why: err.Error(), Do: "Find out whether the host was booted anew, or another one answers at its address.", Next: "rackproof retest " + m.Name}
}
