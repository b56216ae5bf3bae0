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

// standing tells how a mapping or a behaviour is known.
type standing string

const (
	seen       standing = "seen"       // in a capture of such a machine
	documented standing = "documented" // in a vendor's document, on no machine that we have a capture of
)

// intentTable turns wishes into the attributes of one line of machines. Every
// name and value in it stands in the source.
type intentTable struct {
	model, firmware string
	source          string
	standing        standing
	rules           []intentRule
}

// intentRule is one attribute that grants an intent. An intent with several
// attributes is granted by all of them together.
type intentRule struct {
	intent    string
	attribute string         // may lack the suffix that differs between boards
	values    map[string]any // wish -> value of the attribute
	// unlock is set too where the attribute is locked: the mode in which a profile
	// leaves single settings to people.
	unlock map[string]any
}

// grant is an intent as attributes of this machine.
type grant struct {
	intent, value string
	attrs, unlock map[string]any
}

// onOff is the table of a switch.
func onOff(on, off any) map[string]any { return map[string]any{"on": on, "off": off} }

// enabled is the most frequent one.
func enabled() map[string]any { return onOff("Enabled", "Disabled") }

// knownIntent is a wish that can be written once for all vendors: its values,
// and words in the names or captions of attributes near it. The words only help
// to name what a person may mean; nothing is set by them.
type knownIntent struct {
	name   string
	values []string
	words  []string
}

var knownIntents = []knownIntent{
	{"smt", []string{"on", "off"}, []string{"hyper", "smt", "logicalproc"}},
	{"numa-per-socket", []string{"1", "2", "4"}, []string{"numa", "nps", "snc"}},
	{"iommu", []string{"on", "off"}, []string{"iommu", "vtd", "vt_d", "directedi", "amdiovt", "smmu"}},
	{"above-4g", []string{"on", "off"}, []string{"above4g", "64bitresource"}},
	{"resizable-bar", []string{"on", "off"}, []string{"resizablebar", "re_sizebar", "resizebar", "rebar"}},
	{"sriov", []string{"on", "off"}, []string{"sriov", "sr_iov"}},
	{"acs", []string{"on", "off"}, []string{"acsctl", "advertiseacs", "accesscontrol"}},
	{"aspm", []string{"on", "off"}, []string{"aspm"}},
	{"boot-mode", []string{"uefi", "legacy"}, []string{"bootmode", "csm", "legacybios"}},
	{"secure-boot", []string{"on", "off"}, []string{"secureboot"}},
	{"performance", []string{"max", "balanced"}, []string{"sysprofile", "workload", "operatingmode", "powerperformance", "applicationprofile"}},
	{"c-states", []string{"on", "off"}, []string{"cstate", "idlepower", "c6"}},
	{"determinism", []string{"performance", "power"}, []string{"determinism"}},
	{"tpm", []string{"on", "off"}, []string{"tpm", "securitydevice"}},
	{"serial-console", []string{"on", "off"}, []string{"consoleredir", "serialcomm", "serialconsole", "serialport"}},
	{"network-stack", []string{"on", "off"}, []string{"networkstack", "pxe", "prebootnetwork"}},
	{"http-boot", []string{"on", "off"}, []string{"http"}},
}

// MapIntents turns wishes, written once for all vendors, into the attributes of
// this machine. A wish without a rule, whose attribute this BIOS lacks or locks, or
// whose value its registry does not allow, is returned in unmapped with the nearest
// names, in the order of the wishes' names.
func (c *Client) MapIntents(ctx context.Context, intents map[string]string) (attrs map[string]any, unmapped []Unmapped, err error) {
	place, err := c.biosPlace(ctx)
	if err != nil {
		return nil, nil, err
	}
	now := place.bios.Attributes
	reg := c.registryOf(ctx, place.bios.Registry, now)
	refuse := func(intent, value, why string) {
		unmapped = append(unmapped, Unmapped{Intent: intent, Value: value, Why: why, Nearest: nearIntent(intent, now, reg)})
	}
	var grants []grant
	attrs = map[string]any{}
	for _, intent := range slices.Sorted(maps.Keys(intents)) {
		value := strings.ToLower(strings.TrimSpace(intents[intent]))
		g, why := c.grant(intent, value, now, reg)
		if why != "" {
			refuse(intent, value, why)
			continue
		}
		grants = append(grants, g)
		maps.Copy(attrs, g.attrs)
	}
	for _, g := range grants {
		reg.unlock(g, attrs, now)
	}
	state := maps.Clone(now)
	maps.Copy(state, attrs)
	for _, g := range grants {
		for name, value := range g.attrs {
			if why := reg.locked(name, state); why != "" && !reg.sameValue(name, now[name], value) {
				refuse(g.intent, g.value, "its attribute "+name+": "+why)
				delete(attrs, name)
			}
		}
	}
	slices.SortFunc(unmapped, func(a, b Unmapped) int { return strings.Compare(a.Intent, b.Intent) })
	return attrs, unmapped, nil
}

// unlock adds what makes the attributes of a grant free, unless another wish wants
// it otherwise.
func (r registry) unlock(g grant, attrs, now map[string]any) {
	state := maps.Clone(now)
	maps.Copy(state, attrs)
	for name, value := range g.attrs {
		if r.locked(name, state) == "" || r.sameValue(name, now[name], value) {
			continue
		}
		for key, mode := range g.unlock {
			if _, wished := attrs[key]; !wished {
				attrs[key] = mode
			}
		}
	}
}

// grant looks for the first table of the vendor that has every attribute of the
// intent on this machine, or tells why there is none.
func (c *Client) grant(intent, value string, attributes map[string]any, reg registry) (grant, string) {
	i := slices.IndexFunc(knownIntents, func(k knownIntent) bool { return k.name == intent })
	switch {
	case i < 0:
		names := make([]string, len(knownIntents))
		for i, k := range knownIntents {
			names[i] = k.name
		}
		return grant{}, "no such intent; there are " + strings.Join(names, ", ")
	case !slices.Contains(knownIntents[i].values, value):
		return grant{}, fmt.Sprintf("%s takes %s", intent, strings.Join(knownIntents[i].values, ", "))
	}
	why := fmt.Sprintf("no rule for %s: %s on %q machines", intent, value, cmp.Or(c.vendor, "unknown"))
	tables := c.behaviour.intents()
	if _, ok := attributes[secureBootAttribute]; ok {
		tables = append(slices.Clone(tables), secureBootTable)
	}
	for _, table := range tables {
		g, lack := table.grant(intent, value, attributes, reg)
		if lack == "" && len(g.attrs) > 0 {
			return g, ""
		}
		why = cmp.Or(lack, why)
	}
	return grant{}, why
}

// grant gives the attributes of one intent, or what this machine lacks of them.
func (t intentTable) grant(intent, value string, attributes map[string]any, reg registry) (g grant, lack string) {
	g = grant{intent: intent, value: value, attrs: map[string]any{}, unlock: map[string]any{}}
	for _, rule := range t.rules {
		set, ok := rule.values[value]
		if rule.intent != intent || !ok {
			continue
		}
		name, ok := resolve(rule.attribute, attributes, reg)
		if !ok {
			return g, "this BIOS has no attribute " + rule.attribute + ", or several by that name"
		}
		if _, err := reg.coerce(name, set, attributes[name]); err != nil {
			return g, fmt.Sprintf("its attribute %s: %v", name, err)
		}
		g.attrs[name] = set
		maps.Copy(g.unlock, rule.unlock)
	}
	return g, ""
}

// nearIntent names attributes by which a person may mean the intent: by their
// own name first, then by their caption on the setup screen.
func nearIntent(intent string, attributes map[string]any, reg registry) []string {
	i := slices.IndexFunc(knownIntents, func(k knownIntent) bool { return k.name == intent })
	if i < 0 {
		return nil
	}
	var names, captions []string
	squeeze := strings.NewReplacer(" ", "", "-", "", "/", "")
	about := func(text string) bool {
		text = strings.ToLower(squeeze.Replace(text))
		return slices.ContainsFunc(knownIntents[i].words, func(w string) bool { return strings.Contains(text, w) })
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		switch {
		case about(name):
			names = append(names, name)
		case about(string(reg.entries[name].Display)):
			captions = append(captions, name)
		}
	}
	all := append(names, captions...)
	return all[:min(len(all), 5)]
}

// boardSuffix is what Supermicro puts behind a name: Quick_Boot_0001.
var boardSuffix = regexp.MustCompile(`^_[0-9A-F]{4}$`)

// resolve finds the machine's name of an attribute: the same, or with a board's
// suffix where exactly one has it. Those that the BIOS shows go before those
// that only its registry knows: a SYS-821GE hides a second "Boot URI" until the
// first is in use.
func resolve(asked string, attributes map[string]any, reg registry) (string, bool) {
	if _, ok := attributes[asked]; ok {
		return asked, true
	}
	if e, ok := reg.entries[asked]; ok && e.Type != "Password" {
		return asked, true
	}
	suffixed := func(name string) bool {
		rest, ok := strings.CutPrefix(name, asked)
		return ok && boardSuffix.MatchString(rest)
	}
	for _, names := range [][]string{keysThat(attributes, suffixed), keysThat(reg.entries, suffixed)} {
		switch len(names) {
		case 0:
		case 1:
			return names[0], true
		default:
			return "", false
		}
	}
	return "", false
}

func keysThat[V any](m map[string]V, good func(string) bool) []string {
	var keys []string
	for key := range m {
		if good(key) {
			keys = append(keys, key)
		}
	}
	return keys
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
