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
	if err != nil && len(root.children) == 0 {
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
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("?"))
	}
	if bytes.ContainsFunc(b, outsideXML) {
		b = bytes.Map(func(r rune) rune {
			if outsideXML(r) {
				return '?'
			}
			return r
		}, b)
	}
	if !hasLooseBracket(b) { // nearly always, and much cheaper to ask
		return b
	}
	return looseBracket.ReplaceAll(b, []byte("&lt;$1"))
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
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	root := &nvidiaNode{}
	stack := []*nvidiaNode{root}
	defer func() {
		for _, n := range stack[1:] { // a value that was cut is no value
			n.text = ""
		}
	}()
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return root, nil
		}
		if err != nil {
			return root, err
		}
		top := stack[len(stack)-1]
		switch t := token.(type) {
		case xml.StartElement:
			node := top
			if t.Name.Local != "nvidia_smi_log" {
				if len(stack) > nvidiaDepth {
					return root, fmt.Errorf("elements are nested more than %d deep", nvidiaDepth)
				}
				node = top.add(t.Name.Local, "")
			}
			for _, a := range t.Attr {
				if a.Name.Local == "id" {
					node.attr = a.Value
				}
			}
			stack = append(stack, node)
		case xml.EndElement:
			stack = closeElement(stack, t.Name.Local)
		case xml.CharData:
			if top.text == "" {
				t = bytes.TrimSpace(t) // all that stands between two sections
			}
			if len(t) > 0 {
				top.text = strings.TrimSpace(top.text + string(t))
			}
		}
	}
}

// closeElement ends the innermost open element of that name and all within it. An
// end without a beginning is left out: the name of a process can look like one.
func closeElement(stack []*nvidiaNode, name string) []*nvidiaNode {
	want := fieldName(name)
	for i := len(stack) - 1; i > 0; i-- {
		if stack[i].name == want || stack[i].name == "" && name == "nvidia_smi_log" {
			stack[i].closed = true
			return stack[:i]
		}
	}
	return stack
}
