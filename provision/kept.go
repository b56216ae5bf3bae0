package provision

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/burnin"
)

// factKept names the measurements that a retest leaves out, because the attempt before
// has proven what they tell, and of the very same parts.
const factKept = "kept_measurements"

// narrow leaves out of the loads what need not be measured again after a repair. It is
// durable before anything is loaded, so that the record says what was left out.
func (e *Env) narrow(ctx context.Context, rec *burnin.Record, loads []burnin.Load) ([]burnin.Load, error) {
	k := e.keepable(rec, loads)
	said := ""
	if k != nil {
		said = strings.Join(k.Loads, ", ")
		e.Log.Info("not measured again", "loads", said, "proven_in_attempt", k.Attempt)
	}
	if said != e.Facts[factKept] {
		if err := e.Learn(ctx, Facts{factKept: said}); err != nil {
			return nil, err
		}
	}
	if k == nil {
		return loads, nil
	}
	return slices.DeleteFunc(slices.Clone(loads), func(l burnin.Load) bool { return slices.Contains(k.Loads, l.Name) }), nil
}

// keepable is what the attempt before has proven and this one need not measure; nil where
// all is to be measured.
func (e *Env) keepable(rec *burnin.Record, loads []burnin.Load) *burnin.Kept {
	before, dir := judgedBefore(e)
	if before == nil {
		return nil
	}
	earlier, err := burnin.LoadRecord(dir)
	if err != nil {
		e.Log.Warn("nothing of an earlier attempt is kept", "why", err)
		return nil
	}
	since := repairsSince(e.Repairs, earlier)
	if slices.ContainsFunc(since, func(r Repaired) bool { return r.Whole }) {
		return nil
	}
	now := burnin.Judge(rec, e.Profile, e.Spec)
	return burnin.Keep(before, &now, partsTouched(before, repairedSince(before, since)), loads)
}

// partsTouched puts the classes of the parts themselves in the place of burnin.ClassOrder,
// which says of a part only that it is not the one ordered.
func partsTouched(before *burnin.Judgement, touched []burnin.Class) []burnin.Class {
	if !slices.Contains(touched, burnin.ClassOrder) {
		return touched
	}
	out := slices.DeleteFunc(slices.Clone(touched), func(c burnin.Class) bool { return c == burnin.ClassOrder })
	for _, f := range before.Worst() {
		if f.Verdict != burnin.Fail || f.Class != burnin.ClassOrder {
			continue
		}
		i := slices.IndexFunc(before.Findings, func(g burnin.Finding) bool { return g.Part == f.Part && g.Class != burnin.ClassOrder })
		if i < 0 {
			return touched
		}
		out = append(out, before.Findings[i].Class)
	}
	return out
}

// kept is what the record of this attempt takes over, of what it did not measure.
func (e *Env) kept(rec *burnin.Record) *burnin.Kept {
	if e.Facts[factKept] == "" {
		return nil
	}
	left := strings.Split(e.Facts[factKept], ", ")
	return e.keepable(rec, slices.DeleteFunc(burnin.Loads(), func(l burnin.Load) bool { return !slices.Contains(left, l.Name) }))
}

// noteNothingKept says why what was left out stays open.
func (e *Env) noteNothingKept() {
	note := fmt.Sprintf("%s left out, and nothing of the attempt before can stand for it: a part, driver, setting, profile or spec is another by now; rackproof retest %s --whole", e.Facts[factKept], e.Machine.Name)
	switch before := e.Facts[FactNote]; {
	case before == "":
		e.Facts[FactNote] = note
	case !strings.Contains(before, note):
		e.Facts[FactNote] = before + "; " + note
	}
}

// repairsSince are those behind the end of an attempt.
func repairsSince(repairs []Repaired, rec *burnin.Record) []Repaired {
	return slices.DeleteFunc(slices.Clone(repairs), func(r Repaired) bool { return !rec.Meta.Ended.IsZero() && r.At.Before(rec.Meta.Ended) })
}
