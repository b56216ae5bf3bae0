package provision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// BatchYAML is a `machines:` list for a batch file, each with its certificate as it
// was found, so that the first login goes to the BMC that was seen. One without a name
// stands there as a comment: the list stays valid, and a person sees what to name.
// The serial of a machine is what the batch is later held to; the BMC's MAC is none of
// a batch's keys and stands in the comment behind.
func (f Found) BatchYAML() []byte {
	var b bytes.Buffer
	b.WriteString("machines:\n")
	named := 0
	for _, d := range f.BMCs {
		if d.Name != "" {
			named++
			fmt.Fprintf(&b, "  - %s%s\n", d.entry(), d.remark())
		}
	}
	if named == 0 {
		b.Truncate(0)
		b.WriteString("# machines:\n")
	}
	for _, d := range f.BMCs {
		if d.Name == "" {
			fmt.Fprintf(&b, "  # not named: - %s%s\n", d.entry(), d.remark())
		}
	}
	for _, l := range f.Missing {
		fmt.Fprintf(&b, "  # not found: %s\n", plain(l.words()))
	}
	return b.Bytes()
}

func (d Discovered) entry() string {
	login := ""
	switch {
	case !d.HasRedfish():
		login = "protocol: ipmi"
	case d.Legacy:
		login = "tls: {mode: pin, sha256: " + quoted(d.SHA256) + ", legacy: true}"
	default:
		login = "tls: {mode: pin, sha256: " + quoted(d.SHA256) + "}"
	}
	words := []string{"bmc: {addr: " + quoted(d.Addr) + ", " + login + "}"}
	if d.Name != "" {
		words = append([]string{"name: " + quoted(d.Name)}, words...)
	}
	if d.Serial != "" {
		words = append(words, "serial: "+quoted(d.Serial))
	}
	if d.Rack != "" {
		words = append(words, "rack: "+quoted(d.Rack))
	}
	if d.U > 0 {
		words = append(words, fmt.Sprintf("u: %d", d.U))
	}
	return "{" + strings.Join(words, ", ") + "}"
}

func (d Discovered) remark() string {
	words := []string{d.Vendor, d.Model}
	if d.MAC != "" {
		words = append(words, "BMC "+d.MAC)
	}
	if len(d.Odd) > 0 {
		words = append(words, "("+strings.Join(d.Odd, "; ")+")")
	}
	text := plain(strings.Join(words, " "))
	if text == "" {
		return ""
	}
	return "  # " + text
}

// quoted writes a text that a BMC may have chosen as one YAML scalar.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // a string always marshals
		return `""`
	}
	return string(b)
}

// plain keeps a text of a BMC on one line.
func plain(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
