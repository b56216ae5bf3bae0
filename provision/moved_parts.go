package provision

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/burnin"
)

// tellMoved puts into the record of a retest what the attempts before it tell: which
// parts are new in the machine, and what a swap showed.
func (e *Env) tellMoved(rec *burnin.Record, m *burnin.Machine) {
	earlier := e.serialsBefore()
	if len(earlier) == 0 {
		return
	}
	now := burnin.Judge(rec, e.Profile, e.Spec)
	m.Replacements = replacements(earlier, &now)
	if n := len(m.Repaired); n > 0 {
		m.Repaired[n-1].Said = swapSaid(e, &now)
	}
}

// serialsBefore are those of all parts in the attempts before this one, by kind of part.
func (e *Env) serialsBefore() map[string][]string {
	all := map[string][]string{}
	for a := 1; a < e.Attempt; a++ {
		j, err := ReadReport(filepath.Join(filepath.Dir(e.Store.Dir()), strconv.Itoa(a)))
		if err != nil {
			continue
		}
		for _, f := range j.Findings {
			if f.Serial != "" {
				all[kindOf(f)] = append(all[kindOf(f)], f.Serial)
			}
		}
	}
	return all
}

// replacements are the serial numbers of an attempt that none before it showed. Of a
// kind of which none showed any, nothing is known.
func replacements(earlier map[string][]string, now *burnin.Judgement) []string {
	var found []string
	for _, f := range now.Findings {
		known := earlier[kindOf(f)]
		if f.Serial != "" && len(known) > 0 && !slices.Contains(known, f.Serial) {
			found = append(found, f.Serial)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// kindOf is the first word of a part's name: "GPU", "NVMe", "DIMM". It stays where the
// ladder of a finding is not that of its part.
func kindOf(f burnin.Finding) string {
	kind, _, _ := strings.Cut(f.Part, " ")
	return kind
}
