package provision

import (
	"fmt"
	"path"
	"strings"
)

// When is the condition of a step on what is known of its machine. Every key that is
// stated must hold. The values are patterns of path.Match; letter case does not count.
type When struct {
	Name    string `json:"name,omitempty"` // of the machine, as the batch says, like the next three
	Rack    string `json:"rack,omitempty"`
	Profile string `json:"profile,omitempty"`
	Spec    string `json:"spec,omitempty"`
	Model   string `json:"model,omitempty"` // manufacturer and model, as the BMC says
	Fact    string `json:"fact,omitempty"`  // that an earlier step told
	Is      string `json:"is,omitempty"`    // of the fact; one that nobody told is nothing
	IsNot   string `json:"is_not,omitempty"`
}

// toldBy are the facts that a condition may ask for, with the step that tells each.
func toldBy() map[string]string {
	return map[string]string{
		FactInsecure: "preflight", FactTransport: "preflight",
		FactModel: "verify-bmc", FactMember: "verify-bmc", FactPowerFound: "verify-bmc",
		FactBMCAddr: "bmc-network", FactUnmapped: "bios", FactSecureBoot: "secure-boot", FactVolumes: "raid", FactBoot: "boot", FactProof: "wait-ssh",
	}
}

// asked is a pattern with what it is compared with.
type asked struct{ key, pattern, value string }

func (w *When) asks(m Machine, f Facts) []asked {
	return []asked{
		{"name", w.Name, m.Name},
		{"rack", w.Rack, m.Rack},
		{"profile", w.Profile, m.Profile},
		{"spec", w.Spec, m.Spec},
		{"model", w.Model, f[FactModel]},
		{w.Fact, w.Is, f[w.Fact]},
	}
}

// unmet says in words what does not hold for the machine, "" when all does. A nil
// condition always holds.
func (w *When) unmet(m Machine, f Facts) string {
	if w == nil {
		return ""
	}
	for _, a := range w.asks(m, f) {
		if a.pattern != "" && !like(a.pattern, a.value) {
			return fmt.Sprintf("%s is %q, not %q", a.key, a.value, a.pattern)
		}
	}
	if w.IsNot != "" && like(w.IsNot, f[w.Fact]) {
		return fmt.Sprintf("%s is %q", w.Fact, f[w.Fact])
	}
	return ""
}

// open reports whether it rests on what no step has told yet.
func (w *When) open(f Facts) bool {
	missing := func(fact string) bool { _, told := f[fact]; return !told }
	return w != nil && (w.Model != "" && missing(FactModel) || w.Fact != "" && missing(w.Fact))
}

// needs are the facts that it asks for.
func (w *When) needs() []string {
	var facts []string
	if w != nil && w.Model != "" {
		facts = append(facts, FactModel)
	}
	if w != nil && w.Fact != "" {
		facts = append(facts, w.Fact)
	}
	return facts
}

// String is the condition as a plan shows it: `model is "*8125*"`.
func (w *When) String() string {
	var parts []string
	for _, a := range w.asks(Machine{}, nil) {
		if a.pattern != "" {
			parts = append(parts, fmt.Sprintf("%s is %q", a.key, a.pattern))
		}
	}
	if w.IsNot != "" {
		parts = append(parts, fmt.Sprintf("%s is not %q", w.Fact, w.IsNot))
	}
	return strings.Join(parts, " and ")
}

func (w *When) equal(o *When) bool {
	if w == nil || o == nil {
		return w == o
	}
	return *w == *o
}

func like(pattern, value string) bool {
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(value))
	return err == nil && ok
}
