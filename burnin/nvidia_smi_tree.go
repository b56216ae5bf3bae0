package burnin

import (
	"iter"
	"strings"
)

// nvidiaNode is one section or field of a full query. XML and text are both read
// into such trees, so that every field is named in one place and an unknown new
// section can never break an old one.
type nvidiaNode struct {
	name   string // lower case, words joined by "_": "SRAM Correctable" is sram_correctable
	text   string
	attr   string // the id of a gpu element
	closed bool   // its end was seen

	first, last, next *nvidiaNode // children in document order, and the next child of the same parent
}

// children lists the nodes right below n, in document order.
func (n *nvidiaNode) children() iter.Seq[*nvidiaNode] {
	return func(yield func(*nvidiaNode) bool) {
		for c := n.first; c != nil; c = c.next {
			if !yield(c) {
				return
			}
		}
	}
}

func (n *nvidiaNode) append(child *nvidiaNode) {
	if n.last == nil {
		n.first = child
	} else {
		n.last.next = child
	}
	n.last = child
}

func (n *nvidiaNode) add(name, text string) *nvidiaNode {
	child := &nvidiaNode{name: fieldName(name), text: strings.TrimSpace(text)}
	n.append(child)
	return child
}

// fieldName makes the two spellings of a field comparable.
func fieldName(s string) string {
	if isFieldName(s) { // most names in XML
		return s
	}
	b := make([]byte, 0, len(s))
	gap := false
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && len(b) > 0 {
				b = append(b, '_')
			}
			gap = false
			b = append(b, byte(r))
			continue
		}
		gap = true
	}
	return string(b)
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
	for c := n.first; c != nil; c = c.next {
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
				if node.first == nil && node.text != "" {
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
	for c := range n.children() {
		c.each(f)
	}
}
