package burnin

import (
	"regexp"
	"strings"
)

// nvidiaTextGPU begins a GPU in -q: "GPU 00000000:A8:00.0".
var nvidiaTextGPU = regexp.MustCompile(`^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$`)

// parseNvidiaText reads -q, whole or with some sections (-d), or a piece of it
// that begins inside a GPU. The form has no end mark of its own: it is complete when
// our wrapper says so, or when it shows as many GPUs as it says are attached.
func parseNvidiaText(body string, ended bool) (NvidiaLog, error) {
	root := &nvidiaNode{}
	log := NvidiaLog{Form: NvidiaText}
	open := []textSection{{indent: -1, node: root}}
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, " \t\r\n")
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		switch m := nvidiaTextGPU.FindStringSubmatch(line); {
		case m != nil:
			open = beginTextGPU(root, m[1])
		case indent == 0 && !isTextHead(line):
			log.Messages = append(log.Messages, nvidiaMessages(line, false)...)
		case indent == 0:
			open = addTextLine(open[:1], indent, line)
		case len(open) == 1:
			open = addTextLine(beginTextGPU(root, ""), indent, line)
		default:
			open = addTextLine(open, indent, line)
		}
	}
	log.fill(root)
	if len(log.GPUs) == 0 && !log.Attached.Set {
		return log, errNvidiaOther
	}
	log.Complete = ended || log.Attached.Set && float64(len(log.GPUs)) >= log.Attached.V
	return log, nil
}

type textSection struct {
	indent int
	node   *nvidiaNode
}

func beginTextGPU(root *nvidiaNode, address string) []textSection {
	gpu := root.add("gpu", "")
	gpu.attr = address
	return []textSection{{indent: -1, node: root}, {indent: 0, node: gpu}}
}

// addTextLine adds one line under the innermost section that is indented less. A
// field with a value may have fields below it ("HW Slowdown : Not Active").
func addTextLine(open []textSection, indent int, line string) []textSection {
	name, value, hasValue := strings.Cut(line, " : ")
	if !hasValue {
		name = strings.TrimSuffix(line, " :")
		if isLostWord(line) {
			value = strings.TrimSpace(line) // a sentence in place of the fields
		}
	}
	if strings.TrimSpace(name) == "" || len(open) > nvidiaDepth {
		return open
	}
	for len(open) > 1 && open[len(open)-1].indent >= indent {
		open = open[:len(open)-1]
	}
	top := open[len(open)-1].node
	return append(open, textSection{indent, top.add(name, value)})
}

// isTextHead reports whether a line at the margin belongs to the log itself.
func isTextHead(line string) bool {
	switch name, _, _ := strings.Cut(line, " :"); fieldName(name) {
	case "timestamp", "driver_version", "cuda_version", "kmd_version", "cuda_umd_version", "attached_gpus":
		return true
	}
	return strings.HasPrefix(line, "=") || line == ""
}

// looksLikeNvidiaText reports whether a piece of text without the log's head comes
// from -q: it has one of the sections that are judged.
func looksLikeNvidiaText(body string) bool {
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, " \t\r\n")
		if nvidiaTextGPU.MatchString(line) {
			return true
		}
		switch strings.TrimPrefix(line, "    ") {
		case "Fabric", "ECC Errors", "ECC Mode", "MIG Mode", "Retired Pages", "Remapped Rows", "FB Memory Usage", "PCI":
			return true
		}
	}
	return false
}
