package burnin

import (
	"iter"
	"strings"
)

// nvidiaNode is one section or field of a full query. XML and text are both read
// into such trees, so that every field is named in one place and an unknown new
// section can never break an old one.
type nvidiaNode struct {
	name     string // lower case, words joined by "_": "SRAM Correctable" is sram_correctable
	text     string
	attr     string // the id of a gpu element
	children []*nvidiaNode
	closed   bool // its end was seen
}

func (n *nvidiaNode) add(name, text string) *nvidiaNode {
	child := &nvidiaNode{name: fieldName(name), text: strings.TrimSpace(text)}
	n.children = append(n.children, child)
	return child
}

// fieldName makes the two spellings of a field comparable.
func fieldName(s string) string {
	if isFieldName(s) { // most names in XML
		return s
	}
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(strings.TrimSpace(s)) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(r)
			continue
		}
		gap = true
	}
	return b.String()
}

// isFieldName reports whether a name is one already.
func isFieldName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c == '_' && i > 0 && i < len(s)-1 && s[i-1] != '_' {
			continue
		}
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// find returns the nodes at a path such as "pci/pci_bus_id", in document order.
func (n *nvidiaNode) find(path string) iter.Seq[*nvidiaNode] {
	return func(yield func(*nvidiaNode) bool) { n.yieldAt(path, yield) }
}

// yieldAt yields the nodes at a path, until one is the last that is wanted.
func (n *nvidiaNode) yieldAt(path string, yield func(*nvidiaNode) bool) bool {
	head, rest, deeper := strings.Cut(path, "/")
	for _, c := range n.children {
		if c.name != head {
			continue
		}
		if deeper && !c.yieldAt(rest, yield) || !deeper && !yield(c) {
			return false
		}
	}
	return true
}

// textAt returns what is printed at the first of paths that is printed at all. A
// section that prints one word in place of its fields ("Remapped Rows : N/A")
// answers for all of them. Where the same field stands twice, the one that holds
// a value goes before one that does not.
func (n *nvidiaNode) textAt(paths ...string) string {
	found := ""
	for _, path := range paths {
		for node := range n.find(path) {
			if node.text != "" && (found == "" || isNotMeasured(found)) {
				found = node.text
			}
		}
	}
	if found != "" {
		return found
	}
	for _, path := range paths {
		for at := strings.LastIndexByte(path, '/'); at > 0; at = strings.LastIndexByte(path[:at], '/') {
			for node := range n.find(path[:at]) {
				if len(node.children) == 0 && node.text != "" {
					return node.text
				}
			}
		}
	}
	return ""
}

// each calls f for n and everything below it.
func (n *nvidiaNode) each(f func(*nvidiaNode)) {
	f(n)
	for _, c := range n.children {
		c.each(f)
	}
}
