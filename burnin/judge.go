package burnin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// Judge judges a record against a profile and a spec. It is pure: the same three
// give the same judgement on every machine and at every time.
func Judge(rec *Record, p *profiles.Profile, s *profiles.Spec) Judgement {
	r := NewReadings(rec)
	j := Judgement{
		Schema:    ReportSchema,
		Profile:   Named{p.Name, p.SHA256()},
		Spec:      Named{s.Name, s.SHA256()},
		Coverage:  rec.Meta.Coverage,
		Run:       runOf(rec),
		Machine:   machineLine(r),
		Findings:  make([]Finding, 0, 1024), // as many as a machine with eight GPUs has
		NotRun:    []NotRun{},
		NotTested: []string{},
		Loads:     loadsOf(rec),
		Boots:     rec.Meta.Boots,
		Evidence:  evidenceIDs(rec),
		Simulated: rec.Meta.Simulated,
		Compare:   compareOf(p),
	}
	for _, e := range rec.all() {
		j.StandIn = j.StandIn || e.StandIn
		j.Simulated = j.Simulated || e.Simulated
	}
	for _, c := range Checks() {
		j.add(r, c, p, s)
	}
	j.Erasures = erasures(r)
	j.dropOtherMachine()
	j.addUnknownChecks(s)
	j.NotRun = append(j.NotRun, attemptOpen(r, p, s)...)
	if open := bootsOpen(rec, s); open != nil {
		j.NotRun = append(j.NotRun, *open)
	}
	j.keep(rec)
	j.sort(judgeSoak(rec, s, j.Findings), s, p)
	j.judgeSpans(rec, p, s)
	if rec.Machine.Guessed {
		j.NotRun = append(j.NotRun, NotRun{
			Check: "identity", Quantity: "profile", Scope: profiles.Required,
			Why: "the profile was guessed from the machine under test, which proves nothing about what was ordered; name it with --profile",
		})
	}
	waive(j.Findings, rec)
	j.Result = j.sumUp()
	j.Line = j.firstLine()
	return j
}

// runOf is the run that carried the machine. What burnin and capture collect has no
// run behind it, whatever name the folder on the node had.
func runOf(rec *Record) string {
	if rec.Meta.Coverage != CoverFull {
		return ""
	}
	return rec.Meta.Run
}

// add runs one check and sorts its answers into the judgement.
func (j *Judgement) add(r *Readings, c Check, p *profiles.Profile, s *profiles.Spec) {
	if j.outOfScope(r, c, s) {
		return
	}
	if note := p.Checks[c.Name].NotApplicable; note != "" {
		f := About(c.Name, "all", Part{Class: ClassMachine, Name: "machine"}).NotHere(note)
		f.Scope = s.ScopeOf(c.Name, "")
		j.Findings = append(j.Findings, f)
		return
	}
	findings := r.atBoots(judgeSafely(c, r, p, s), c, p, s)
	if len(findings) == 0 {
		findings = []Finding{About(c.Name, "all", Part{Class: ClassMachine, Name: "machine"}).
			Missing(fmt.Errorf("the check %s gave no answer; this is a fault of rackproof, please report it", c.Name))}
	}
	j.Findings = slices.Grow(j.Findings, len(findings))
	for _, f := range findings {
		j.put(r.believed(f), s, p)
	}
	j.NotTested = slices.Compact(j.NotTested)
}

// sort puts findings where they belong by their scope and whether they were measured.
func (j *Judgement) sort(findings []Finding, s *profiles.Spec, p *profiles.Profile) {
	j.Findings = slices.Grow(j.Findings, len(findings))
	for _, f := range findings {
		j.put(f, s, p)
	}
	j.NotTested = slices.Compact(j.NotTested)
}

func (j *Judgement) put(f Finding, s *profiles.Spec, p *profiles.Profile) {
	if f.Scope == "" {
		f.Scope = s.ScopeOf(f.Check, f.Quantity)
	}
	switch {
	case f.Scope == profiles.OutOfScope:
		j.NotTested = append(j.NotTested, f.Check+"/"+f.Quantity+": out of scope of spec "+s.Name)
	case f.NotRun != "":
		j.NotRun = append(j.NotRun, NotRun{Check: f.Check, Quantity: f.Quantity, Part: f.Part, Why: f.NotRun, Scope: f.Scope})
	default:
		j.Findings = append(j.Findings, withAdvice(f, p))
	}
}

// dropOtherMachine takes back what was measured on a host that turned out to be
// another machine: it says nothing about this one, neither good nor bad.
func (j *Judgement) dropOtherMachine() {
	if !slices.ContainsFunc(j.Findings, func(f Finding) bool { return f.Class == ClassPair && f.Verdict == Fail }) {
		return
	}
	j.Findings = slices.DeleteFunc(j.Findings, func(f Finding) bool {
		if f.Check == identity.Name || f.Verdict == NotApplicable {
			return false
		}
		j.NotRun = append(j.NotRun, NotRun{
			Check: f.Check, Quantity: f.Quantity, Part: f.Part, Scope: f.Scope,
			Why: "it was measured on a host that is another machine",
		})
		return true
	})
}

// outOfScope notes a check that is not judged at all, and says so.
func (j *Judgement) outOfScope(r *Readings, c Check, s *profiles.Spec) bool {
	given := slices.ContainsFunc(r.rec.Evidence, func(e *Evidence) bool { return slices.Contains(c.Probes, e.Probe) })
	if c.BMC && j.Coverage != CoverFull && !given {
		j.NotTested = append(j.NotTested, c.Name+": needs evidence of the BMC, which this record does not have")
		return true
	}
	if asked(s, c.Name) {
		return false
	}
	j.NotTested = append(j.NotTested, c.Name+": out of scope of spec "+s.Name)
	return true
}

// asked reports whether a spec asks for a check, or for a quantity of it.
func asked(s *profiles.Spec, check string) bool {
	if s.ScopeOf(check, "") != profiles.OutOfScope {
		return true
	}
	for key := range s.Checks {
		if strings.HasPrefix(key, check+"/") {
			return true
		}
	}
	return false
}

// judgeSafely turns a panic of a check into an answer that blocks: one broken
// check must not hide what the others found, nor pass.
func judgeSafely(c Check, r *Readings, p *profiles.Profile, s *profiles.Spec) (fs []Finding) {
	defer func() {
		if v := recover(); v != nil {
			fs = []Finding{About(c.Name, "all", Part{Class: ClassMachine, Name: "machine"}).
				Missing(fmt.Errorf("the check %s broke (%v); this is a fault of rackproof, please report it with the evidence", c.Name, v))}
		}
	}()
	return r.answer(c.Name, p, s, c.Judge)
}

// addUnknownChecks lists what the spec asks for and this version cannot check: a
// required one blocks.
func (j *Judgement) addUnknownChecks(s *profiles.Spec) {
	known := map[string]bool{}
	for _, c := range Checks() {
		known[c.Name] = true
	}
	var names []string
	for key := range s.Checks {
		name, _, _ := strings.Cut(key, "/")
		if !known[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		scope := s.ScopeOf(name, "")
		if scope == profiles.Required {
			j.NotRun = append(j.NotRun, NotRun{Check: name, Scope: scope, Why: "this version of rackproof has no such check"})
			continue
		}
		j.NotTested = append(j.NotTested, name+": not part of this test")
	}
}

func withAdvice(f Finding, p *profiles.Profile) Finding {
	if len(f.Advice) > 0 || (f.Verdict != Fail && f.Verdict != Warn) {
		return f
	}
	for _, rung := range p.Advice[string(f.Class)] {
		f.Advice = append(f.Advice, Advice{Do: rung.Do, Minutes: rung.Minutes, Who: string(rung.Who), Retest: rung.Retest})
	}
	return f
}

// waive marks findings that somebody agreed to accept. A waiver that had run out
// when the evidence was taken accepts nothing.
func waive(fs []Finding, rec *Record) {
	for i := range fs {
		if fs[i].Verdict != Fail {
			continue
		}
		for _, w := range rec.Machine.Waivers {
			expired := !w.Until.IsZero() && rec.Meta.Ended.After(w.Until)
			if (w.Finding == fs[i].ID || w.Finding == fs[i].Check) && !expired && w.By != "" {
				fs[i].Waived = w.Reason + " (agreed by " + w.By + ")"
			}
		}
	}
}

// sumUp makes the result: only what is required counts.
func (j *Judgement) sumUp() Result {
	worst, waived, proven := NotApplicable, false, false
	for _, f := range j.Findings {
		if f.Scope != profiles.Required {
			continue
		}
		if f.Waived != "" {
			waived = true
			continue
		}
		proven = proven || f.Verdict == Pass
		worst = Worse(worst, f.Verdict)
	}
	open := slices.ContainsFunc(j.NotRun, func(n NotRun) bool { return n.Scope == profiles.Required })
	switch {
	case worst == Fail:
		return Failed
	case worst == Unknown, open, !proven, j.Coverage == CoverPartial:
		return Incomplete
	case waived:
		return PassedWithDeviations
	default:
		return Passed
	}
}

// Worst returns the findings that decide the result, worst first: what a person
// must read. Which machine this is comes first, then damage that a part reports of
// itself, then what follows from it; findings about a part with a serial come
// before those about the machine, because they say where to go.
func (j *Judgement) Worst() []Finding {
	var out []Finding
	for _, f := range j.Findings {
		if f.Scope == profiles.Required && f.Waived == "" && f.Verdict >= Unknown {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		if a.Verdict != b.Verdict {
			return int(b.Verdict) - int(a.Verdict)
		}
		return cmp.Or(firstHand(a)-firstHand(b), named(b)-named(a))
	})
	return out
}

// firstHand ranks findings by how near they are to the cause: a GPU that fell off
// the bus also has no link, no memory and no NVLink.
func firstHand(f Finding) int {
	causes := []string{"identity", "gpu.ecc", "gpu.remap", "gpu.xid", "memory.errors"}
	switch i := slices.Index(causes, f.Check); {
	case f.Check == "memory.errors" && strings.HasPrefix(f.Quantity, "corrected"):
		return len(causes) // nothing was damaged by it
	case slices.Contains(lifetimeQuantities, f.Quantity):
		return len(causes) + 1 // used, which is no fault
	case i >= 0:
		return i
	}
	return len(causes)
}

// lifetimeQuantities are what only new parts have a limit of: beyond it a part is not
// as ordered, and may work well.
var lifetimeQuantities = []string{"percent_used", "power_on_hours", "data_written", "uncorrectable_rows", "correctable_rows"}

func named(f Finding) int {
	switch {
	case f.Serial != "":
		return 2
	case f.Address != "", f.Class == ClassDIMM && f.Part != memoryPart.Name:
		return 1
	default:
		return 0
	}
}

func evidenceIDs(rec *Record) []EvidenceID {
	ids := make([]EvidenceID, 0, len(rec.Evidence))
	for _, e := range rec.all() {
		id := EvidenceID{Ref: e.Ref(), Command: e.Command, Ended: e.Ended, Exit: e.Exit, Seconds: e.Seconds, SHA256: e.SHA256Out, StandIn: e.StandIn}
		if !e.Started.IsZero() {
			id.Started = e.Started.UTC().Format("2006-01-02T15:04:05.000Z")
		}
		ids = append(ids, id)
	}
	return ids
}
