package provision

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/burnin"
)

// ParseSwap reads what --swapped says: the labels of two places, "A1<->B1".
func ParseSwap(s string) ([]string, error) {
	a, b, ok := strings.Cut(s, "<->")
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if !ok || a == "" || b == "" || strings.EqualFold(a, b) {
		return nil, fmt.Errorf("swapped %q: write the labels of two places, as 'A1<->B1' in quotes", s)
	}
	return []string{a, b}, nil
}

// swapSaid compares the attempt with the last one before it that was judged: whether
// the fault went with the part or stayed with its place. "" where no parts were moved.
func swapSaid(e *Env, after *burnin.Judgement) string {
	if len(e.Repairs) == 0 {
		return ""
	}
	before, _ := judgedBefore(e)
	if before == nil {
		return ""
	}
	return swapSentence(before, after, e.Repairs[len(e.Repairs)-1])
}

// judgedBefore is the last attempt before this one that has a report, and its folder; nil
// where there is none.
func judgedBefore(e *Env) (j *burnin.Judgement, dir string) {
	for a := e.Attempt - 1; a > 0; a-- {
		dir := filepath.Join(filepath.Dir(e.Store.Dir()), strconv.Itoa(a))
		if j, err := ReadReport(dir); err == nil {
			return j, dir
		}
	}
	return nil, ""
}

// swapSentence is the one sentence in which a swap retest ends (PEOPLE.md). Where the
// two attempts do not tell, it says why.
func swapSentence(before, after *burnin.Judgement, r Repaired) string {
	f, ok := swapped(before, r)
	switch {
	case !ok && len(r.Swapped) == 0:
		return ""
	case !ok:
		return fmt.Sprintf("cannot tell: nothing had failed at %s or %s before the swap", r.Swapped[0], r.Swapped[1])
	case f.Serial == "" && len(r.Swapped) == 0:
		return ""
	case f.Serial == "":
		return fmt.Sprintf("cannot tell: no serial number of %s is known, so the part cannot be told from its slot", f.Part)
	}
	if len(r.Swapped) == 0 {
		return unaskedSentence(before, after, f, r)
	}
	label := r.Swapped[0]
	if hasLabel(f.Part, label) {
		label = r.Swapped[1]
	}
	was, is := serialsOf(before), serialsOf(after)
	now := is.placeOf(f.Serial, label)
	if why := was.doubt(is, f, now, label); why != "" {
		return "cannot tell: " + why
	}
	return movedSentence(before, after, f, now)
}

// movedSentence is for parts that did change places; other is where the part is now.
func movedSentence(before, after *burnin.Judgement, f burnin.Finding, other string) string {
	n := again(after, f, other)
	switch {
	case n.went != nil && n.stayed != nil:
		return fmt.Sprintf("cannot tell: S/N %s fails in %s, and S/N %s in %s", f.Serial, other, n.stayed.Serial, f.Part)
	case n.stayed != nil:
		return fmt.Sprintf("fault stays with slot %s: it was there with S/N %s, and is with S/N %s", f.Part, f.Serial, n.stayed.Serial)
	case n.went != nil:
		return fmt.Sprintf("fault follows part S/N %s: it was in %s, and is in %s", f.Serial, f.Part, other)
	case !n.wellHere || !n.wellThere:
		return fmt.Sprintf("cannot tell: %s of %s and %s is not proven in this attempt", f.Check, f.Part, other)
	}
	return fmt.Sprintf("%s: watch %s, S/N %s", gone(before, f), other, f.Serial)
}

// unaskedSentence is for a retest of which no swap was told.
func unaskedSentence(before, after *burnin.Judgement, f burnin.Finding, r Repaired) string {
	n := again(after, f, f.Part)
	switch {
	case n.went != nil && n.stayed != nil:
		return fmt.Sprintf("cannot tell: S/N %s fails in %s, and S/N %s in %s", f.Serial, n.went.Part, n.stayed.Serial, f.Part)
	case n.stayed != nil:
		return fmt.Sprintf("fault stays with slot %s: it was there with S/N %s, and is with S/N %s", f.Part, f.Serial, n.stayed.Serial)
	case n.went != nil && n.went.Part != f.Part:
		return fmt.Sprintf("fault follows part S/N %s: it was in %s, and is in %s", f.Serial, f.Part, n.went.Part)
	case n.went == nil && n.wellHere && !isSXM(before, f) && strings.Contains(strings.ToLower(r.Note), "reseat"):
		return fmt.Sprintf("%s: watch %s, S/N %s", gone(before, f), f.Part, f.Serial)
	}
	return ""
}

// gone is what happened to a fault that no longer shows. SXM modules are exchanged by
// their vendor and never reseated; cables and supplies are plugged.
func gone(before *burnin.Judgement, f burnin.Finding) string {
	switch {
	case isSXM(before, f):
		return "gone after the exchange"
	case f.Class == burnin.ClassCable, f.Class == burnin.ClassPSU:
		return "gone after plugging it anew"
	default:
		return "gone after reseat"
	}
}

// isSXM reports whether a finding is of an SXM module, whose ladder may be that of a
// setting or of heat.
func isSXM(j *burnin.Judgement, f burnin.Finding) bool {
	return f.Class == burnin.ClassSXM || slices.ContainsFunc(j.Findings, func(g burnin.Finding) bool { return g.Part == f.Part && g.Class == burnin.ClassSXM })
}

// serialsAt are the serial numbers of parts by their place.
type serialsAt map[string]string

func serialsOf(j *burnin.Judgement) serialsAt {
	s := serialsAt{}
	for _, f := range j.Findings {
		if f.Part != "" && f.Serial != "" {
			s[f.Part] = f.Serial
		}
	}
	return s
}

// placeOf is where a part is, "" where nothing shows it. Of several names of its place
// the one with the label counts.
func (s serialsAt) placeOf(serial, label string) string {
	place := ""
	for _, name := range slices.Sorted(maps.Keys(s)) {
		switch {
		case s[name] != serial:
		case hasLabel(name, label):
			return name
		case place == "":
			place = name
		}
	}
	return place
}

// doubt says why two attempts do not show that the parts at two places were exchanged,
// and nothing else; "" where they do. s is before, is after; now is where the part is
// that was at fault, other the label where it was to go.
func (s serialsAt) doubt(is serialsAt, f burnin.Finding, now, other string) string {
	switch {
	case is[f.Part] == f.Serial:
		return fmt.Sprintf("the parts did not change places, S/N %s is in %s as before", f.Serial, f.Part)
	case now == "":
		return fmt.Sprintf("S/N %s is not seen any more, so it is not known whether it is at %s", f.Serial, other)
	case !hasLabel(now, other):
		return fmt.Sprintf("S/N %s is in %s, and not at %s", f.Serial, now, other)
	case is[f.Part] == "":
		return fmt.Sprintf("no serial number of %s is known now, so it is not known which part is in it", f.Part)
	case s[now] == "":
		return fmt.Sprintf("no serial number of %s was known before, so it is not known whether its part is in %s", now, f.Part)
	case is[f.Part] != s[now]:
		return fmt.Sprintf("S/N %s came from elsewhere into %s, where S/N %s was to go", is[f.Part], f.Part, s[now])
	}
	var more []string
	for place, serial := range s {
		if place != f.Part && place != now && is[place] != "" && is[place] != serial {
			more = append(more, fmt.Sprintf("%s has S/N %s, and had S/N %s", place, is[place], serial))
		}
	}
	if len(more) == 0 {
		return ""
	}
	slices.Sort(more)
	return "more than these two parts changed: " + strings.Join(more, "; ")
}

// repeated is what a later attempt says of a finding's question.
type repeated struct {
	went      *burnin.Finding // it failed of the same part
	stayed    *burnin.Finding // it failed of another part at the same place
	wellHere  bool            // it passed at the same place
	wellThere bool            // it passed where the part is now
}

func again(j *burnin.Judgement, f burnin.Finding, there string) repeated {
	var n repeated
	for i := range j.Findings {
		g := &j.Findings[i]
		if g.Check != f.Check || g.Quantity != f.Quantity {
			continue
		}
		n.wellHere = n.wellHere || g.Part == f.Part && g.Verdict == burnin.Pass
		n.wellThere = n.wellThere || g.Part == there && g.Verdict == burnin.Pass
		switch failed := g.Verdict == burnin.Fail; {
		case failed && g.Serial == f.Serial:
			n.went = g
		case failed && g.Part == f.Part && g.Serial != "":
			n.stayed = g
		}
	}
	return n
}

// swapped is the finding that a swap was to explain: the first that failed at one of
// the places named, or of all that have a serial, if none were. One with a serial goes first.
func swapped(j *burnin.Judgement, r Repaired) (found burnin.Finding, ok bool) {
	for _, f := range j.Worst() {
		if f.Verdict != burnin.Fail || len(r.Swapped) > 0 && !slices.ContainsFunc(r.Swapped, func(label string) bool { return hasLabel(f.Part, label) }) {
			continue
		}
		if f.Serial != "" {
			return f, true
		}
		if !ok {
			found, ok = f, true
		}
	}
	return found, ok
}

// hasLabel reports whether a part is the one at a label: "DIMM P1-DIMMA1" is, at
// "P1-DIMMA1".
func hasLabel(part, label string) bool {
	part, label = strings.ToLower(part), strings.ToLower(label)
	return part == label || strings.HasSuffix(part, " "+label)
}
