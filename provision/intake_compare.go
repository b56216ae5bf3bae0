package provision

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/redfish"
)

// Delivered says of one thing that was ordered whether it is there.
type Delivered string

// What is said of a part or a machine. What the BMC cannot tell is never fine.
const (
	AsExpected Delivered = "as_expected"
	Differs    Delivered = "differs"
	NotTold    Delivered = "unknown" // the BMC does not tell enough
)

// Comparison is one statement of an order beside what the BMC lists.
type Comparison struct {
	Part    string    `json:"part"` // a PartKind, "model", "health" or PartLog
	Ordered string    `json:"ordered"`
	Here    string    `json:"here"`
	Verdict Delivered `json:"verdict"`
	Text    string    `json:"text"` // for people: what differs, or what is not told and why
}

// seenPart is a part as a BMC lists it.
type seenPart struct {
	label  string
	name   string   // as the BMC writes it
	words  []string // that name it
	size   float64  // as OrderedPart.Size; 0 = not told
	health string
}

// listing is what a BMC lists of one kind of part.
type listing struct {
	kind  PartKind
	parts []seenPart
	empty []string // labels of places that it calls empty
	gaps  []string // what could not be read, and why
	off   bool     // the host is off, and some BMCs list less then
}

// compareOrder compares an order with what the BMC lists. Nothing is taken for there
// that is not listed, nor for missing where the list may have gaps.
func compareOrder(l OrderLine, inv redfish.Inventory, power redfish.PowerState) []Comparison {
	var out []Comparison
	if l.Model != "" {
		out = append(out, compareModel(l.Model, inv.System))
	}
	for _, kind := range partKinds {
		var items []OrderedPart
		for _, p := range l.Parts {
			if p.Kind == kind {
				items = append(items, p)
			}
		}
		if len(items) == 0 {
			continue
		}
		seen := listed(kind, inv, power)
		if kind == KindMemory {
			out = append(out, seen.compareMemory(items))
			continue
		}
		out = append(out, seen.compare(items)...)
	}
	for _, p := range l.Strange {
		out = append(out, Comparison{Part: string(p.Kind), Ordered: p.Said, Verdict: NotTold, Text: fmt.Sprintf("column %s is not understood: compare it by hand, or take it out of the table", p.Said)})
	}
	return append(out, unhealthy(inv)...)
}

func compareModel(want string, id redfish.Identity) Comparison {
	here := strings.TrimSpace(id.Manufacturer + " " + id.Model)
	c := Comparison{Part: "model", Ordered: want, Here: here}
	if here == "" {
		c.Verdict, c.Text = NotTold, "the BMC tells no model"
		return c
	}
	c.Verdict = sameName("", want, wordsOf(here, id.SKU))
	c.Text = map[Delivered]string{
		Differs: fmt.Sprintf("it is a %s, ordered was %s", here, want),
		NotTold: fmt.Sprintf("whether %q is %q is not told: compare the sticker", here, want),
	}[c.Verdict]
	return c
}

// wholeUnread is a chassis or system that could not be read, with all that is in it.
var wholeUnread = regexp.MustCompile(`^[^:]*/(chassis|systems)(/[^/:]+)?/?:`)

// placesOf are where a kind of part stands in a tree, or how IPMI says that it lists none.
var placesOf = map[PartKind][]string{
	KindCPU: {"/processors", "cpus"}, KindGPU: {"/processors", "/pciedevices", "gpus"}, KindDIMM: {"/memory", "memory modules"}, KindMemory: {"/memory", "memory modules"},
	KindDrive: {"/storage", "/drives", "drives"}, KindNIC: {"/networkadapters", "network adapters"}, KindPSU: {"/power"},
}

// gapsOf are the readings that failed and may have held a part of that kind.
func gapsOf(kind PartKind, partial []string) (gaps []string) {
	for _, gap := range partial {
		low := strings.ToLower(gap)
		if wholeUnread.MatchString(low) || slices.ContainsFunc(placesOf[kind], func(at string) bool { return strings.Contains(low, at) }) {
			gaps = append(gaps, gap)
		}
	}
	return gaps
}

// listed takes what the BMC lists of a kind.
func listed(kind PartKind, inv redfish.Inventory, power redfish.PowerState) listing {
	l := listing{kind: kind, off: power != redfish.On, gaps: gapsOf(kind, inv.Partial)}
	add := func(p redfish.Part, size *int64, unit float64, more ...string) {
		s := seenPart{label: or(or(p.Label, p.Name), p.Serial), name: or(p.Model, p.PartNumber), health: p.Health, words: wordsOf(append(more, p.Manufacturer, p.Model, p.PartNumber)...)}
		if size != nil {
			s.size = float64(*size) * unit
		}
		l.parts = append(l.parts, s)
	}
	switch kind {
	case KindCPU:
		for _, p := range inv.CPUs {
			add(p.Part, nil, 0)
		}
	case KindGPU:
		for _, p := range inv.GPUs {
			add(p.Part, nil, 0)
		}
	case KindDIMM, KindMemory:
		l.empty = inv.EmptyDIMMs
		for _, p := range inv.DIMMs {
			add(p.Part, p.SizeMiB, 1.0/1024, p.Type)
		}
	case KindDrive:
		for _, p := range inv.Drives {
			add(p.Part, p.Bytes, 1, p.Protocol, p.Media)
		}
	case KindNIC:
		for _, p := range inv.NICs {
			add(p.Part, nil, 0)
		}
	case KindPSU:
		for _, p := range inv.PSUs {
			add(p.Part, p.Watts, 1)
		}
	}
	return l
}

// compare compares all that is ordered of a kind; a part counts for one statement.
func (l listing) compare(items []OrderedPart) []Comparison {
	var out []Comparison
	left, counted := slices.Clone(l.parts), true
	for _, item := range items {
		var fit, maybe, other []seenPart
		for _, p := range left {
			switch p.is(item) {
			case AsExpected:
				fit = append(fit, p)
			case NotTold:
				maybe = append(maybe, p)
			default:
				other = append(other, p)
			}
		}
		maybe, other = namedElse(item, fit, maybe, other)
		c := Comparison{Part: string(l.kind), Ordered: item.Said, Here: l.words(fit, maybe, other)}
		c.Verdict, c.Text = l.judge(item, fit, maybe, other)
		out = append(out, c)
		left, counted = append(maybe, other...), counted && item.Count >= 0
	}
	if last := &out[len(out)-1]; counted && len(left) > 0 && last.Verdict == AsExpected && l.kind != KindDrive && l.kind != KindNIC {
		last.Verdict, last.Text = Differs, fmt.Sprintf("%s more than ordered: %s", many(len(left), l.kind), labels(left))
	}
	return out
}

// namedElse sorts out what may fit only by its name, where the BMC calls others of the
// machine as the order does: it would call this one so too.
func namedElse(item OrderedPart, fit, maybe, other []seenPart) (still, not []seenPart) {
	want := wordsOf(item.Model)
	for _, p := range maybe {
		shares := slices.ContainsFunc(want, func(w string) bool { return slices.Contains(p.words, w) })
		if len(fit) > 0 && len(want) > 0 && len(p.words) > 0 && !shares {
			other = append(other, p)
			continue
		}
		still = append(still, p)
	}
	return still, other
}

// judge judges one statement by what fits it, what may fit it, and what does not.
func (l listing) judge(item OrderedPart, fit, maybe, other []seenPart) (Delivered, string) {
	all := len(fit) + len(maybe) + len(other)
	switch {
	case item.Count == 0 && all == 0:
		return AsExpected, ""
	case all == 0:
		return NotTold, fmt.Sprintf("the BMC lists no %s at all%s: count by hand, or let `rackproof run` ask the host", l.kind, l.doubt())
	case item.Count < 0 && len(other) > 0:
		return Differs, fmt.Sprintf("not %s: %s", item.Said, labels(other))
	case item.Count < 0 && len(maybe) == 0, len(fit) == item.Count:
		return AsExpected, ""
	case len(fit) > item.Count && item.Count >= 0:
		return l.over(item, len(fit))
	case len(fit)+len(maybe) >= item.Count:
		return NotTold, fmt.Sprintf("%d proven to be %s, of %d others it is not told: the BMC says %s", len(fit), item.said(), len(maybe), names(l.kind, maybe))
	}
	return l.short(item, len(fit)+len(maybe), other)
}

// over says what more parts than ordered mean. Ports and drives on the board are listed
// beside those that were ordered.
func (l listing) over(item OrderedPart, n int) (Delivered, string) {
	if item.Model == "" && item.Size == 0 && (l.kind == KindDrive || l.kind == KindNIC) {
		return NotTold, fmt.Sprintf("%d listed, ordered were %d: those on the board may be among them; say which were ordered, such as %q", n, item.Count, fmt.Sprintf("%d x MODEL", item.Count))
	}
	return Differs, fmt.Sprintf("%d of %d %s: more than ordered", n, item.Count, plural(item.Count, l.kind))
}

// short says what fewer parts than ordered mean.
func (l listing) short(item OrderedPart, n int, other []seenPart) (Delivered, string) {
	head := fmt.Sprintf("%d of %d %s", n, item.Count, plural(item.Count, l.kind))
	missing := item.Count - n
	switch {
	case len(other) >= missing:
		return Differs, fmt.Sprintf("%s are %s; the rest: %s", head, item.said(), names(l.kind, other))
	case len(l.empty) == missing:
		return Differs, fmt.Sprintf("%s: %s missing", head, strings.Join(l.empty, ", "))
	case len(l.empty) > missing:
		return Differs, fmt.Sprintf("%s: %d missing; empty are %s", head, missing, strings.Join(l.empty, ", "))
	case l.doubt() != "":
		return NotTold, head + " listed" + l.doubt()
	}
	return Differs, fmt.Sprintf("%s: %d missing; listed are %s", head, missing, labels(l.parts))
}

// doubt says why what is not listed may be there all the same; "" where the list is whole.
func (l listing) doubt() string {
	switch {
	case len(l.gaps) > 0:
		return fmt.Sprintf(" (not all could be read: %.120s)", l.gaps[0])
	case l.off && l.kind != KindPSU:
		return " (the host is off, and BMCs list less then: switch it on and ask again)"
	}
	return ""
}

// compareMemory compares the memory of all modules together.
func (l listing) compareMemory(items []OrderedPart) Comparison {
	item := items[0]
	want := item.Size
	if item.Count > 0 {
		want *= float64(item.Count)
	}
	total := 0.0
	untold := 0
	for _, p := range l.parts {
		total += p.size
		if p.size == 0 {
			untold++
		}
	}
	c := Comparison{Part: string(KindMemory), Ordered: item.Said, Here: fmt.Sprintf("%s GiB", number(total)), Verdict: AsExpected}
	switch {
	case len(l.parts) == 0 || untold > 0:
		c.Verdict, c.Text = NotTold, fmt.Sprintf("the BMC tells the size of %d modules%s", len(l.parts)-untold, l.doubt())
	case total < want && l.doubt() != "" && len(l.empty) == 0:
		c.Verdict, c.Text = NotTold, fmt.Sprintf("%s GiB of %s GiB listed%s", number(total), number(want), l.doubt())
	case total != want:
		c.Verdict, c.Text = Differs, fmt.Sprintf("%s GiB of memory, ordered were %s GiB", number(total), number(want))
	}
	return c
}

// unhealthy are the parts of which the BMC itself says that something is wrong.
func unhealthy(inv redfish.Inventory) []Comparison {
	var out []Comparison
	for _, kind := range partKinds {
		if kind == KindMemory {
			continue
		}
		for _, p := range listed(kind, inv, redfish.On).parts {
			c := Comparison{Part: "health", Ordered: "OK", Here: p.health}
			switch p.health {
			case "Critical":
				c.Verdict, c.Text = Differs, fmt.Sprintf("%s %s: the BMC calls it Critical", kind, p.label)
			case "Warning":
				c.Verdict, c.Text = NotTold, fmt.Sprintf("%s %s: the BMC calls it Warning, look why", kind, p.label)
			default:
				continue
			}
			if kind == KindPSU {
				c.Text += "; is its cord in?"
			}
			out = append(out, c)
		}
	}
	return out
}

// is compares one part with what was ordered.
func (p seenPart) is(item OrderedPart) Delivered {
	verdict := AsExpected
	if item.Size != 0 {
		switch {
		case p.size == 0:
			verdict = NotTold
		case !sameSize(item.Size, p.size):
			return Differs
		}
	}
	if item.Model == "" {
		return verdict
	}
	if name := sameName(item.Kind, item.Model, p.words); name != AsExpected {
		return name
	}
	return verdict
}

// sameSize compares two sizes as they are called: makers count a few blocks more than
// the name of a drive says, which three figures do not show.
func sameSize(a, b float64) bool {
	return strconv.FormatFloat(a, 'e', 2, 64) == strconv.FormatFloat(b, 'e', 2, 64)
}

func (i OrderedPart) said() string {
	_, rest, many := strings.Cut(i.Said, "x ")
	if many && manyOf.MatchString(i.Said) {
		return rest
	}
	return i.Said
}

func (l listing) words(lists ...[]seenPart) string {
	all := slices.Concat(lists...)
	if len(all) == 0 {
		return "none listed"
	}
	return fmt.Sprintf("%d: %s", len(all), names(l.kind, all))
}

// names are the different names of parts, with how many have each.
func names(kind PartKind, parts []seenPart) string {
	var order []string
	n := map[string]int{}
	for _, p := range parts {
		name := or(strings.TrimSpace(p.name+" "+kind.size(p.size)), "no name")
		if n[name]++; n[name] == 1 {
			order = append(order, name)
		}
	}
	for i, name := range order {
		order[i] = fmt.Sprintf("%d x %s", n[name], name)
	}
	return strings.Join(order, ", ")
}

// size is a size of this kind of part, "" for none.
func (k PartKind) size(f float64) string {
	switch {
	case f == 0:
		return ""
	case k == KindPSU:
		return number(f) + " W"
	case k != KindDrive:
		return number(f) + " GiB"
	case f >= 1e12:
		return number(math.Round(f/1e10)/100) + " TB"
	}
	return number(math.Round(f/1e9)) + " GB"
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func labels(parts []seenPart) string {
	var all []string
	for _, p := range parts {
		all = append(all, or(p.label, "no label"))
	}
	return strings.Join(all, ", ")
}

func many(n int, kind PartKind) string { return fmt.Sprintf("%d %s", n, plural(n, kind)) }

func plural(n int, kind PartKind) string {
	if n == 1 {
		return string(kind)
	}
	return string(kind) + "s"
}
