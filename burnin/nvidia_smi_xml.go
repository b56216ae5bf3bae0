package burnin

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// nvidiaDepth is deeper than any document type of nvidia-smi goes; what is deeper
// is no output of it and is not followed.
const nvidiaDepth = 32

// parseNvidiaXML reads -q -x. The end mark of the form is </nvidia_smi_log>: what
// ends before it gives the GPUs that were whole, and is not complete.
func parseNvidiaXML(body []byte) (NvidiaLog, error) {
	start := bytes.Index(body, []byte("<?xml"))
	if at := bytes.Index(body, []byte("<nvidia_smi_log")); start < 0 || start > at {
		start = at
	}
	end := len(body)
	if i := bytes.LastIndex(body, []byte("</nvidia_smi_log>")); i >= 0 {
		end = i + len("</nvidia_smi_log>")
	}
	if end < start {
		return NvidiaLog{}, fmt.Errorf("the XML ends before it begins")
	}
	around := string(body[:start]) + "\n" + string(body[end:])
	root, err := nvidiaXMLTree(cleanXML(body[start:end]))
	if err != nil && root.first == nil {
		return NvidiaLog{Messages: nvidiaMessages(around, true)}, fmt.Errorf("the XML cannot be read: %w", err)
	}
	log := NvidiaLog{Form: NvidiaXML, Messages: nvidiaMessages(around, false)}
	log.Complete = err == nil && root.closed
	log.fill(root)
	return log, nil
}

// looseBracket is a "<" that begins no tag.
var looseBracket = regexp.MustCompile(`<([^A-Za-z/?!])`)

// cleanXML makes what nvidia-smi prints fit for a parser: it does not escape the
// names of processes, which may hold any byte.
func cleanXML(b []byte) []byte {
	plain := isPlainASCII(b) // nearly always, and much cheaper to ask
	if !plain && !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("?"))
	}
	if !plain && bytes.ContainsFunc(b, outsideXML) {
		b = bytes.Map(func(r rune) rune {
			if outsideXML(r) {
				return '?'
			}
			return r
		}, b)
	}
	if !hasLooseBracket(b) { // as above
		return b
	}
	return looseBracket.ReplaceAll(b, []byte("&lt;$1"))
}

// isPlainASCII reports whether b is of characters that ASCII has a letter for, and of
// ends of lines and tabulators.
func isPlainASCII(b []byte) bool {
	for _, c := range b {
		if (c < ' ' || c >= utf8.RuneSelf) && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// hasLooseBracket reports whether looseBracket is anywhere in b.
func hasLooseBracket(b []byte) bool {
	for i := range len(b) - 1 {
		if b[i] == '<' && !isTagStart(b[i+1]) {
			return true
		}
	}
	return false
}

// isTagStart reports whether a "<" before c begins a tag.
func isTagStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '/' || c == '?' || c == '!'
}

// outsideXML reports whether XML 1.0 has no such character.
func outsideXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
}

// nvidiaXMLTree reads the tree under <nvidia_smi_log>, as far as it goes.
func nvidiaXMLTree(b []byte) (*nvidiaNode, error) {
	if t := newNvidiaTree(); t.readPlain(string(b)) {
		return t.done(), nil
	}
	t := newNvidiaTree()
	err := t.readXML(b)
	return t.done(), err
}

// nvidiaTree is a tree that is being read.
type nvidiaTree struct {
	stack []*nvidiaNode // the root, and what is open
	spare []nvidiaNode
}

func newNvidiaTree() *nvidiaTree { return &nvidiaTree{stack: []*nvidiaNode{{}}} }

// done returns the root. A value that was cut is no value.
func (t *nvidiaTree) done() *nvidiaNode {
	for _, n := range t.stack[1:] {
		n.text = ""
	}
	return t.stack[0]
}

// readXML reads any XML, until its end or its first fault.
func (t *nvidiaTree) readXML(b []byte) error {
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			node, ok := t.open(token.Name.Local)
			if !ok {
				return fmt.Errorf("elements are nested more than %d deep", nvidiaDepth)
			}
			for _, a := range token.Attr {
				if a.Name.Local == "id" {
					node.attr = a.Value
				}
			}
		case xml.EndElement:
			t.close(token.Name.Local)
		case xml.CharData:
			t.text(string(token))
		}
	}
}

// open begins an element; ok is false where it is too deep.
func (t *nvidiaTree) open(name string) (node *nvidiaNode, ok bool) {
	node = t.stack[len(t.stack)-1]
	if name != "nvidia_smi_log" {
		if len(t.stack) > nvidiaDepth {
			return nil, false
		}
		if len(t.spare) == 0 {
			t.spare = make([]nvidiaNode, 128) // a GPU has more
		}
		child := &t.spare[0]
		t.spare = t.spare[1:]
		child.name = fieldName(name)
		node.append(child)
		node = child
	}
	t.stack = append(t.stack, node)
	return node, true
}

// close ends the innermost open element of that name and all within it. An end without
// a beginning is left out: the name of a process can look like one.
func (t *nvidiaTree) close(name string) {
	want := fieldName(name)
	for i := len(t.stack) - 1; i > 0; i-- {
		if n := t.stack[i]; n.name == want || n.name == "" && name == "nvidia_smi_log" {
			n.closed = true
			t.stack = t.stack[:i]
			return
		}
	}
}

func (t *nvidiaTree) text(s string) {
	top := t.stack[len(t.stack)-1]
	if top.text == "" {
		s = strings.TrimSpace(s) // all that stands between two sections
	}
	if s != "" {
		top.text = strings.TrimSpace(top.text + s)
	}
}

// readPlain reads what nvidia-smi nearly always writes: elements with no attribute but
// an id, and text without escapes. That is many times as fast as reading any XML. It
// returns false where anything else stands; then what it read is of no use.
func (t *nvidiaTree) readPlain(s string) bool {
	for s != "" {
		at := strings.IndexByte(s, '<')
		if at < 0 {
			at = len(s)
		}
		if text := s[:at]; text != "" {
			if strings.ContainsAny(text, "&\r") || strings.Contains(text, "]]>") {
				return false
			}
			t.text(text)
			s = s[at:]
			continue
		}
		if comment, ok := strings.CutPrefix(s, "<!--"); ok {
			comment, s, ok = strings.Cut(comment, "-->")
			if !ok || strings.Contains(comment, "--") || strings.HasSuffix(comment, "-") {
				return false
			}
			continue
		}
		end := strings.IndexByte(s, '>')
		if end < 0 || !t.tag(s[1:end]) {
			return false
		}
		s = s[end+1:]
	}
	return true
}

// tag reads what stands in the brackets of a tag; false where it is none that readPlain reads.
func (t *nvidiaTree) tag(tag string) bool {
	switch {
	case tag == `?xml version="1.0" ?`:
		return true
	case strings.HasPrefix(tag, "!DOCTYPE "):
		return !strings.ContainsAny(tag, "<'") && strings.Count(tag, `"`)%2 == 0
	}
	if name, ok := strings.CutPrefix(tag, "/"); ok {
		if isPlainName(name) {
			t.close(name)
			return true
		}
		return false
	}
	name, id, hasID := strings.Cut(tag, ` id="`)
	name, empty := strings.CutSuffix(name, "/")
	if hasID && (empty || !strings.HasSuffix(id, `"`) || strings.ContainsAny(id[:len(id)-1], "\"&<\r")) || !isPlainName(name) {
		return false
	}
	node, ok := t.open(name)
	switch {
	case !ok:
		return false
	case hasID:
		node.attr = id[:len(id)-1]
	case empty:
		t.close(name)
	}
	return true
}

// isPlainName reports whether a name is letters, digits and underscores.
func isPlainName(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && s[i] != '_' && (i == 0 || s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return s != ""
}
