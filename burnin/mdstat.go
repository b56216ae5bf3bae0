package burnin

import (
	"errors"
	"regexp"
	"strings"
)

var (
	// "md0 : active (auto-read-only) raid1 sdb1[1](F) sda1[0]"
	mdHead   = regexp.MustCompile(`^(md\S+) : (active|inactive|broken)\s*((?:\([a-z-]+\)\s*)*)(.*)$`)
	mdLevel  = regexp.MustCompile(`^(raid\d+|linear|multipath|faulty)\s`)
	mdFaulty = regexp.MustCompile(`(\S+?)\[\d+\]\S*\(F\)`)
	mdCount  = regexp.MustCompile(`\[(\d+)/(\d+)\]`)
	mdMap    = regexp.MustCompile(`\[([U_]+)\]`)
	mdWork   = regexp.MustCompile(`\b(recovery|resync|reshape|check|repair)\s*=\s*(\S+)`)
)

// mdEnd begins the last line of /proc/mdstat.
const mdEnd = "unused devices:"

// mdWhole says why a copy of /proc/mdstat is not whole, or nil.
func mdWhole(text string) error {
	if !strings.Contains(text, mdEnd) {
		return errors.New("the list was cut: its last line, of unused devices, is missing")
	}
	return nil
}

// mdArrays reads /proc/mdstat. A container of external metadata holds arrays and is
// none; it is inactive on every healthy machine.
func mdArrays(text string) []RAIDArray {
	var out []RAIDArray
	for _, block := range mdBlocks(text) {
		if a, ok := mdArray(block); ok {
			out = append(out, a)
		}
	}
	return out
}

// mdBlocks are the arrays with the lines that belong to each.
func mdBlocks(text string) [][]string {
	var out [][]string
	for line := range strings.Lines(text) {
		line = chomp(line)
		switch {
		case mdHead.MatchString(line):
			out = append(out, []string{line})
		case strings.HasPrefix(line, mdEnd):
			return out
		case len(out) > 0:
			out[len(out)-1] = append(out[len(out)-1], strings.TrimSpace(line))
		}
	}
	return out
}

func mdArray(block []string) (RAIDArray, bool) {
	head := mdHead.FindStringSubmatch(block[0])
	rest := strings.Join(block[1:], " ")
	if head[2] == "inactive" && strings.Contains(rest, "super external:") {
		return RAIDArray{}, false
	}
	a := RAIDArray{Name: head[1], Words: head[2]}
	if m := mdLevel.FindStringSubmatch(head[4] + " "); m != nil {
		a.Level = m[1]
	}
	for _, m := range mdFaulty.FindAllStringSubmatch(head[4], -1) {
		a.Members = append(a.Members, m[1])
	}
	if seats := mdMap.FindString(rest); seats != "" {
		a.Words = seats
	}
	work := ""
	if m := mdWork.FindStringSubmatch(rest); m != nil {
		work = m[1]
		a.Words += ", " + work + " " + m[2]
	}
	a.State = mdState(head[2] == "active", a.Level, len(a.Members) > 0 || mdShort(rest), work)
	return a, true
}

// mdShort reports whether an array has seats without a working member.
func mdShort(rest string) bool {
	if m := mdMap.FindStringSubmatch(rest); m != nil && strings.Contains(m[1], "_") {
		return true
	}
	m := mdCount.FindStringSubmatch(rest)
	return m != nil && atoi(m[2]) < atoi(m[1])
}

// mdState is how an array is. One that is being checked is whole; one without
// redundancy has nothing to lose.
func mdState(active bool, level string, short bool, work string) RAIDState {
	switch {
	case !active, short && (level == "raid0" || level == "linear"):
		return RAIDFailed
	case short, work == "recovery":
		return RAIDDegraded
	case work != "" && work != "check":
		return RAIDSyncing
	case level == "":
		return RAIDUnknown
	}
	return RAIDGood
}
