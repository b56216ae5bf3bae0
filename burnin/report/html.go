package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/profiles"
)

//go:embed html
var files embed.FS

// Page 1 stays one page: what it spells out is bounded, the rest is counted there
// and stands behind it.
const (
	shownOnFirstPage = 2 // parts, and quantities not proven
	alsoShown        = 2 // further findings of a part
	valueShown       = 30
)

// HTML writes the record of one machine as one self-contained page: no script, no
// outside file, light and dark, and page 1 of the print is the whole answer.
func HTML(w io.Writer, m *Machine) error { return render(w, "html/machine.html.tmpl", m) }

// BatchHTML writes the page of a batch.
func BatchHTML(w io.Writer, b *Batch) error { return render(w, "html/batch.html.tmpl", b) }

func render(w io.Writer, name string, data any) error {
	css, err := files.ReadFile("html/style.css")
	if err != nil {
		return err
	}
	funcs := template.FuncMap{
		"css":   func() template.CSS { return template.CSS(css) }, //nolint:gosec // our own embedded stylesheet
		"short": short, "when": when, "words": words, "plain": plain, "value": value, "limit": limitText,
		"verdict": verdictText, "scope": scopeText, "partid": PartID, "clip": clip, "join": func(s []string) string { return strings.Join(s, ", ") },
		"brief": brief, "underload": underLoad, "restarted": restarted, "ladder": ladder, "bad": bad, "more": more, "lines": lines, "open": open, "waived": waived, "delivered": delivered,
	}
	t, err := template.New(name).Funcs(funcs).ParseFS(files, name)
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, name[strings.LastIndexByte(name, '/')+1:], data)
}

// verdictOfPart is what page 1 says of one part: its first finding, the others in
// short, and one ladder.
type verdictOfPart struct {
	burnin.Finding
	Also []string
}

// bad lists the parts that decide the result, as many as page 1 has room for.
func bad(m *Machine) []verdictOfPart {
	var out []verdictOfPart
	said := map[string]bool{}
	for _, fs := range burnin.Stories(m.Worst()) {
		v := verdictOfPart{Finding: fs[0]}
		if text := ladder(v.Advice); said[text] {
			v.Advice = nil
		} else {
			said[text] = true
		}
		for _, f := range fs[1:min(len(fs), 1+alsoShown)] {
			v.Also = append(v.Also, strings.TrimPrefix(f.Sentence(), fs[0].Part+" "))
		}
		out = append(out, v)
	}
	return out[:min(len(out), shownOnFirstPage)]
}

func more(m *Machine) int {
	shown := 0
	for _, v := range bad(m) {
		shown += 1 + len(v.Also)
	}
	return len(m.Worst()) - shown
}

func lines(m *Machine) []CheckLine { return WorstByCheck(m.Findings, profiles.Required) }

func open(m *Machine) []burnin.NotRun {
	var out []burnin.NotRun
	for _, n := range m.NotRun {
		if n.Scope == profiles.Required && len(out) < shownOnFirstPage {
			out = append(out, n)
		}
	}
	return out
}

func waived(m *Machine) []burnin.Finding {
	var out []burnin.Finding
	for _, f := range m.Findings {
		if f.Waived != "" {
			out = append(out, f)
		}
	}
	return out
}

// delivered counts the parts found, and names what is not as ordered.
func delivered(m *Machine) string {
	counts := make([]string, 0, len(m.Inventory))
	for _, g := range m.Inventory {
		counts = append(counts, fmt.Sprintf("%d %s", len(g.Rows), g.Title))
	}
	s := "Found: " + strings.Join(counts, ", ") + "."
	if len(counts) == 0 {
		s = "No inventory was taken."
	}
	var off []string
	for _, f := range m.Findings {
		if f.Verdict == burnin.Fail && (strings.HasSuffix(f.Check, ".count") || f.Check == "memory.population" || f.Check == "identity") {
			off = append(off, f.Sentence())
		}
	}
	if len(off) == 0 {
		return s + " No deviation from the profile and the order was found in what was counted."
	}
	return s + " Not as ordered: " + strings.Join(off, "; ") + "."
}

func short(hash string) string {
	if len(hash) > 12 {
		return hash[:12]
	}
	return hash
}

func when(t time.Time) string {
	if t.IsZero() {
		return "not recorded"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	default:
		return fmt.Sprint(v)
	}
}

func value(v any, unit string) string {
	if v == nil {
		return "–"
	}
	if unit == "" || unit == string(profiles.Count) {
		return plain(v)
	}
	return plain(v) + " " + unit
}

func limitText(f burnin.Finding) string {
	if f.Limit == nil {
		return "–"
	}
	sign := map[string]string{"min": "≥ ", "max": "≤ "}[f.Relation]
	return sign + value(f.Limit, f.Unit)
}

// underLoad says what kept the machine busy and for how long, beside what the spec
// asks for.
func underLoad(m *Machine) string {
	var loads []string
	for _, l := range m.Loads {
		s := fmt.Sprintf("%s %s", l.Name, time.Duration(l.Seconds*float64(time.Second)).Round(time.Second))
		if !l.Whole {
			s += " (cut)"
		}
		loads = append(loads, s)
	}
	asked := "the spec asks for no hours"
	if h := m.Spec.Soak.Hours; h > 0 {
		asked = fmt.Sprintf("the spec asks for %g h", h)
	}
	if len(loads) == 0 {
		return "nothing; " + asked
	}
	return strings.Join(loads, ", ") + "; " + asked
}

// restarted says how often the machine was restarted and looked at behind it, and how long
// it took to come back; "" where nobody asked for it.
func restarted(m *Machine) string {
	if len(m.Boots) == 0 {
		return m.Record.Machine.Facts["reboots"]
	}
	kinds, slowest := map[profiles.RebootKind]int{}, time.Duration(0)
	for _, b := range m.Boots {
		kinds[b.Kind]++
		slowest = max(slowest, b.Up.Sub(b.Down))
	}
	var words []string
	for _, kind := range []profiles.RebootKind{profiles.Cold, profiles.Warm} {
		if n := kinds[kind]; n > 0 {
			words = append(words, fmt.Sprintf("%d times %s", n, kind))
		}
	}
	return fmt.Sprintf("%s, back after %s at most", strings.Join(words, " and "), slowest.Round(time.Second))
}

// brief is value, cut to what a column of page 1 holds.
func brief(v any, unit string) string {
	s := value(v, unit)
	if r := []rune(s); len(r) > valueShown {
		return string(r[:valueShown-1]) + "…"
	}
	return s
}

// ladder puts a whole advice ladder into one paragraph.
func ladder(rungs []burnin.Advice) string { return strings.Join(Ladder("", rungs), "  ") }

func verdictText(f burnin.Finding) string {
	if f.Waived != "" {
		return "agreed"
	}
	if f.Scope == profiles.Recorded && f.Verdict == burnin.NotApplicable {
		return "recorded"
	}
	return words(f.Verdict.String())
}

func scopeText(s profiles.Scope) string { return words(string(s)) }

// clip shortens a command for the table; the whole stands in the evidence.
func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 90 {
		return string(r[:89]) + "…"
	}
	return s
}
