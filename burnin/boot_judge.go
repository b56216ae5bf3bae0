package burnin

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// bootReadings are what one boot of the reboot cycles shows, alone: its evidence stands
// in the phase before of a record of its own, so that every check judges it as it judges
// a machine that is idle. Of the rest only the BMC's list of parts is there, which names them.
type bootReadings struct {
	Boot
	*Readings
}

// boots are the readings of each boot of the reboot cycles, in their order.
func (r *Readings) boots() []bootReadings {
	if r.started != nil || len(r.rec.Meta.Boots) == 0 {
		return r.started
	}
	for _, b := range r.rec.Meta.Boots {
		rec := &Record{Meta: r.rec.Meta, Machine: r.rec.Machine}
		rec.Meta.Restarts, rec.Meta.Boots = nil, nil
		for _, e := range r.rec.Evidence {
			switch {
			case e.Phase == b.Phase():
				one := *e
				one.Phase = PhaseBefore
				rec.Evidence = append(rec.Evidence, &one)
			case e.Phase == PhaseBMC && e.Probe == BMCInventory.Spec.Name:
				rec.Evidence = append(rec.Evidence, e)
			}
		}
		r.started = append(r.started, bootReadings{b, NewReadings(rec)})
	}
	return r.started
}

// judge runs a check on this boot alone.
func (b *bootReadings) judge(c Check, p *profiles.Profile, s *profiles.Spec) []Finding {
	phase := string(b.Phase())
	words := strings.NewReplacer(string(PhaseBefore)+"/", phase+"/", "in phase "+string(PhaseBefore), "in phase "+phase, "(before the test)", "(since that boot)")
	fs := slices.Clone(judgeSafely(c, b.Readings, p, s))
	for i := range fs {
		f := b.believed(fs[i])
		f.NotRun, f.Why = words.Replace(f.NotRun), words.Replace(f.Why)
		f.Evidence = slices.Clone(f.Evidence)
		for j := range f.Evidence {
			f.Evidence[j] = words.Replace(f.Evidence[j])
		}
		fs[i] = f
	}
	return fs
}

// whole reports whether all that a check reads was read to its end in this boot, so
// that what is not in it was not there.
func (b *bootReadings) whole(c Check) bool {
	read := false
	for _, e := range b.rec.Evidence {
		if e.Phase != PhaseBefore || e.Ended == EndedNoTool || !slices.Contains(c.Probes, e.Probe) {
			continue
		}
		if e.Usable() != nil || b.doubts()[e.Ref()] != nil {
			return false
		}
		read = true
	}
	return read
}

// atBoots joins what a check found in the phases of the machine with what it finds in
// each boot of the reboot cycles: the worst counts, and says which boot it was.
func (r *Readings) atBoots(found []Finding, c Check, p *profiles.Profile, s *profiles.Spec) []Finding {
	boots := r.boots()
	if c.AtBoot == nil || len(boots) == 0 {
		return found
	}
	var all []*bootStory
	for i := range found {
		all = append(all, &bootStory{check: c, boots: boots, main: &found[i], at: make([]*Finding, len(boots))})
	}
	whole := make([]bool, len(boots))
	for i := range boots {
		whole[i] = boots[i].whole(c)
		for _, f := range boots[i].judge(c, p, s) {
			story := storyOf(all, &f, i)
			if story == nil {
				story = &bootStory{check: c, boots: boots, at: make([]*Finding, len(boots))}
				all = append(all, story)
			}
			story.at[i] = &f
			if f.NotRun != "" && story.main != nil && story.main.measured() {
				whole[i] = false // the tool ran, and what it printed could not be read
			}
		}
	}
	var out []Finding
	for _, story := range all {
		out = append(out, story.tell(whole)...)
	}
	return out
}

// storyOf finds the story that a finding of boot i goes on with: of the same part by its
// name, else by its serial, else by its address. The kernel's names of drives may change
// places from boot to boot.
func storyOf(all []*bootStory, f *Finding, i int) *bootStory {
	same := []func(o *Finding) bool{
		func(o *Finding) bool { return o.ID == f.ID },
		func(o *Finding) bool { return o.Serial != "" && o.Serial == f.Serial },
		func(o *Finding) bool {
			return o.Address != "" && o.Address == f.Address && (o.Serial == "" || f.Serial == "")
		},
	}
	for _, is := range same {
		for _, story := range all {
			if o := story.any(); story.at[i] == nil && o.Quantity == f.Quantity && is(o) {
				return story
			}
		}
	}
	return nil
}

// bootStory is one question about one part, and its answers: in the machine's own phases
// and in each boot.
type bootStory struct {
	check Check
	boots []bootReadings
	main  *Finding   // nil: only a boot asked it
	at    []*Finding // by boot; nil = its evidence does not show the part
}

func (s *bootStory) any() *Finding {
	if s.main != nil {
		return s.main
	}
	return s.at[slices.IndexFunc(s.at, func(f *Finding) bool { return f != nil })]
}

// measured reports whether a finding says something of its part.
func (f *Finding) measured() bool {
	return f.NotRun == "" && (f.Verdict != NotApplicable || f.Measured != nil)
}

// tell makes the findings of a story: the one of the machine's own phases, or the fault of
// boots in its place; and beside it what a boot left open.
func (s *bootStory) tell(whole []bool) []Finding {
	bad, open, good := make([]string, len(s.boots)), make([]string, len(s.boots)), 0
	for i := range s.boots {
		bad[i], open[i] = s.answer(i, whole[i])
		if bad[i] == "" && open[i] == "" {
			good++
		}
	}
	isSaid := func(why string) bool { return why != "" }
	worst, unread := slices.IndexFunc(bad, isSaid), slices.IndexFunc(open, isSaid)
	switch {
	case worst >= 0:
		return []Finding{s.fault(worst, bad, good)}
	case s.main == nil:
		return nil
	case s.main.NotRun != "" || s.main.Verdict == Fail:
		return []Finding{*s.main}
	}
	out := []Finding{s.ratherTested(*s.main)}
	if unread >= 0 {
		out = append(out, s.main.Missing(fmt.Errorf("in %s: %s", s.boots[unread].when(), open[unread])))
	}
	return out
}

// ratherTested blames the boot in which the machine was tested, where it showed less than
// others.
func (s *bootStory) ratherTested(f Finding) Finding {
	most := s.most()
	n, number := f.Measured.(float64)
	if !s.check.Same || !number || n >= most || !slices.Contains(s.check.AtBoot, f.Quantity) {
		return f
	}
	f.Scope = ""
	return f.Judged(Fail, fmt.Sprintf("%v during the test, and %v in another boot", n, most))
}

// answer says what is wrong with a part in boot i, or why that is not known.
func (s *bootStory) answer(i int, whole bool) (bad, open string) {
	f := s.at[i]
	switch {
	case f != nil && f.Verdict == Fail && f.NotRun == "":
		return firstWord(f.Why, fmt.Sprintf("%v, the profile wants %v", f.Measured, f.Limit)), ""
	case !slices.Contains(s.check.AtBoot, s.any().Quantity) || !s.known():
		return "", ""
	case f == nil && whole && s.check.Same:
		return "missing", ""
	case f == nil:
		return "", "its evidence does not show this part"
	case f.NotRun != "":
		return "", f.NotRun
	case s.check.Same:
		return s.less(f), ""
	}
	return "", ""
}

// less says how a boot shows less of a part than another, or "".
func (s *bootStory) less(f *Finding) string {
	if !f.measured() {
		return firstWord(f.Why, "nothing is there")
	}
	most := s.most()
	if n, number := f.Measured.(float64); number && n < most {
		return fmt.Sprintf("%v, where it was %v", n, most)
	}
	return ""
}

// known reports whether the part was measured when the machine was tested, so that it is
// owed again. What one boot alone names may be a part that it knows by another name.
func (s *bootStory) known() bool { return s.main != nil && s.main.measured() }

// most is the greatest number that was measured, of which every boot must show as much.
func (s *bootStory) most() float64 {
	most := math.Inf(-1)
	for _, f := range append([]*Finding{s.main}, s.at...) {
		if f == nil || f.NotRun != "" {
			continue
		}
		if n, number := f.Measured.(float64); number {
			most = max(most, n)
		}
	}
	return most
}

// fault is the finding of boots that were not as they should be.
func (s *bootStory) fault(worst int, bad []string, good int) Finding {
	if s.main != nil && s.main.Verdict == Fail && s.main.NotRun == "" {
		f := *s.main
		f.Evidence = s.cite(f.Evidence, bad)
		return f.Because("%s; and so in %s", f.Why, s.which(bad))
	}
	f := *s.any()
	if at := s.at[worst]; at != nil {
		f.Measured, f.Limit, f.Unit, f.Class, f.Advice = at.Measured, firstLimit(at.Limit, f.Limit), at.Unit, at.Class, at.Advice
	} else {
		f.Measured = "absent"
	}
	f.Scope, f.NotRun, f.Evidence = "", "", s.cite(nil, bad)
	return f.Judged(Fail, fmt.Sprintf("%s in %s; good in %d of %d boots", bad[worst], s.which(bad), good, len(s.boots)))
}

func firstLimit(a, b any) any {
	if a != nil {
		return a
	}
	return b
}

// which names the boots of which something is said: "boot 4 (2026-03-01 10:20 UTC)".
func (s *bootStory) which(said []string) string {
	var words []string
	for i, why := range said {
		if why != "" {
			words = append(words, s.boots[i].when())
		}
	}
	return list(words)
}

// cite adds the evidence of those boots; where one does not show the part, all that the
// check reads of it.
func (s *bootStory) cite(refs, said []string) []string {
	refs = slices.Clone(refs)
	for i, why := range said {
		switch {
		case why == "":
		case s.at[i] != nil:
			refs = append(refs, s.at[i].Evidence...)
		default:
			for _, e := range s.boots[i].rec.Evidence {
				if e.Phase == PhaseBefore && slices.Contains(s.check.Probes, e.Probe) {
					refs = append(refs, string(s.boots[i].Phase())+"/"+e.Name())
				}
			}
		}
	}
	return refs
}
