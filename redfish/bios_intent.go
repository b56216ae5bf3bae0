package redfish

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// intentRule turns one wish into one attribute. The names and values stand in a
// captured tree of the vendor.
type intentRule struct {
	intent, value string
	attribute     string // may lack the suffix that differs between boards
	set           string
}

// intentWords help to name attributes near an intent that could not be mapped.
var intentWords = map[string][]string{
	"smt":             {"hyper", "smt", "logicalproc"},
	"numa-per-socket": {"numa", "nps", "snc", "subnuma"},
	"iommu":           {"iommu", "vtd", "vt_d", "directedi", "dmaremap"},
	"above-4g":        {"above4g", "mmio"},
	"sriov":           {"sriov", "sr_iov"},
	"acs":             {"acs", "accesscontrol"},
	"aspm":            {"aspm"},
	"boot-mode":       {"bootmode", "csm"},
	"performance":     {"profile", "perf", "workload"},
}

// MapIntents turns wishes, written once for all vendors, into the attributes of
// this machine. A wish without a rule, or whose attribute this BIOS lacks, is
// returned in unmapped with the nearest names, in the order of the wishes'
// names.
func (c *Client) MapIntents(ctx context.Context, intents map[string]string) (attrs map[string]any, unmapped []Unmapped, err error) {
	place, err := c.biosPlace(ctx)
	if err != nil {
		return nil, nil, err
	}
	reg := c.registryOf(ctx, place.bios.Registry, place.bios.Attributes)
	attrs = map[string]any{}
	for _, intent := range slices.Sorted(maps.Keys(intents)) {
		value := strings.ToLower(strings.TrimSpace(intents[intent]))
		why := fmt.Sprintf("no rule for %s: %s on %q machines", intent, value, firstOf(c.vendor, "unknown"))
		mapped := false
		for _, rule := range c.behaviour.intents() {
			if rule.intent != intent || rule.value != value {
				continue
			}
			name, ok := resolve(rule.attribute, place.bios.Attributes, reg)
			if !ok {
				why = "this BIOS has no " + rule.attribute
				continue
			}
			attrs[name], mapped = rule.set, true
		}
		if !mapped {
			unmapped = append(unmapped, Unmapped{Intent: intent, Value: value, Why: why, Nearest: nearIntent(intent, place.bios.Attributes)})
		}
	}
	return attrs, unmapped, nil
}

func nearIntent(intent string, attributes map[string]any) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		for _, w := range intentWords[intent] {
			if strings.Contains(strings.ToLower(name), w) {
				names = append(names, name)
				break
			}
		}
	}
	return names[:min(len(names), 5)]
}

// boardSuffix is what Supermicro puts behind a name: Quick_Boot_0001.
var boardSuffix = regexp.MustCompile(`^_[0-9A-F]{4}$`)

// resolve finds the machine's name of an attribute: the same, or with a board's
// suffix where exactly one has it.
func resolve(asked string, attributes map[string]any, reg registry) (string, bool) {
	if _, ok := attributes[asked]; ok {
		return asked, true
	}
	found := map[string]bool{}
	consider := func(name string) {
		if rest, ok := strings.CutPrefix(name, asked); ok && boardSuffix.MatchString(rest) {
			found[name] = true
		}
	}
	for name := range attributes {
		consider(name)
	}
	for name, e := range reg.entries {
		if name == asked && e.Type != "Password" {
			return asked, true
		}
		consider(name)
	}
	if len(found) != 1 {
		return "", false
	}
	return slices.Collect(maps.Keys(found))[0], true
}

// nearest lists the names that are most like the asked one.
func nearest(asked string, attributes map[string]any) []string {
	names := slices.Sorted(maps.Keys(attributes))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(likeness(asked, b), likeness(asked, a)) })
	return names[:min(len(names), 3)]
}

// likeness counts the pairs of letters that two names share, against all.
func likeness(a, b string) float64 {
	pairs := func(s string) map[string]bool {
		s = strings.ToLower(s)
		set := map[string]bool{}
		for i := 0; i+2 <= len(s); i++ {
			set[s[i:i+2]] = true
		}
		return set
	}
	x, y := pairs(a), pairs(b)
	both := 0
	for p := range x {
		if y[p] {
			both++
		}
	}
	return float64(2*both) / float64(max(1, len(x)+len(y)))
}
