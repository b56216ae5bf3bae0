package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

// onlyWord is a word of --only: the checks it keeps, by the beginning of their
// names, and the classes of load.
type onlyWord struct {
	word   string
	checks []string
	loads  []burnin.Class
}

var onlyCheck = []onlyWord{
	{"cpu", []string{"cpu"}, []burnin.Class{burnin.ClassCPU}},
	{"memory", []string{"memory."}, []burnin.Class{burnin.ClassCPU}},
	{"gpu", []string{"gpu.", "pcie."}, []burnin.Class{burnin.ClassSXM, burnin.ClassPCIeGPU}},
	{"nvme", []string{"nvme.", "gds.", "pcie."}, []burnin.Class{burnin.ClassNVMe}},
	{"pcie", []string{"pcie."}, []burnin.Class{burnin.ClassSXM, burnin.ClassPCIeGPU, burnin.ClassNVMe}},
}

// selectOnly returns the probes and loads that --only keeps. Identity is always
// asked: evidence of nobody's machine proves nothing. What is left out is reported
// as not run, so the result stays incomplete where the spec requires it.
func selectOnly(words []string) ([]burnin.ProbeSpec, []burnin.Load, error) {
	if len(words) == 0 {
		return burnin.Probes(), burnin.Loads(), nil
	}
	prefixes, classes := []string{"identity"}, []burnin.Class{}
	for _, w := range words {
		i := slices.IndexFunc(onlyCheck, func(o onlyWord) bool { return o.word == w })
		if i < 0 {
			return nil, nil, unknownOnly(w)
		}
		prefixes = append(prefixes, onlyCheck[i].checks...)
		classes = append(classes, onlyCheck[i].loads...)
	}
	keep := map[string]bool{}
	kept := func(check string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(check, p) })
	}
	for _, c := range burnin.Checks() {
		if kept(c.Name) {
			for _, probe := range c.Probes {
				keep[probe] = true
			}
		}
	}
	probes := slices.DeleteFunc(burnin.Probes(), func(p burnin.ProbeSpec) bool { return !keep[p.Name] })
	loads := slices.DeleteFunc(burnin.Loads(), func(l burnin.Load) bool {
		return l.Check != "" && !kept(l.Check) || !slices.ContainsFunc(l.Busy, func(c burnin.Class) bool { return slices.Contains(classes, c) })
	})
	return probes, loads, nil
}

func unknownOnly(word string) error {
	known := make([]string, 0, len(onlyCheck))
	for _, o := range onlyCheck {
		known = append(known, o.word)
	}
	next := "one of " + strings.Join(known, ", ")
	if near := profiles.Nearest(word, known); near != "" {
		next = "did you mean " + near + "?"
	}
	return usageError(fmt.Errorf("--only %s: no such part", word), next)
}
