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
		line = strings.TrimRight(line, "\r\n")
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
	a := RAIDArray{Name: head[1], State: RAIDGood, Words: head[2]}
	members := head[4]
	if m := mdLevel.FindStringSubmatch(members + " "); m != nil {
		a.Level = m[1]
	}
	for _, m := range mdFaulty.FindAllStringSubmatch(members, -1) {
		a.Members = append(a.Members, m[1])
	}
	work := mdWork.FindStringSubmatch(rest)
	seats := mdMap.FindStringSubmatch(rest)
	missing := len(a.Members) > 0 || seats != nil && strings.Contains(seats[1], "_")
	if n := mdCount.FindStringSubmatch(rest); n != nil && n[1] != n[2] && atoi(n[2]) < atoi(n[1]) {
		missing = true
	}
	if seats != nil {
		a.Words = seats[0]
	}
	if work != nil {
		a.Words += ", " + work[1] + " " + work[2]
	}
	switch {
	case head[2] != "active":
		a.State = RAIDFailed
	case missing && (a.Level == "raid0" || a.Level == "linear"):
		a.State = RAIDFailed // it has nothing to lose
	case missing, work != nil && work[1] == "recovery":
		a.State = RAIDDegraded
	case work != nil && work[1] != "check":
		a.State = RAIDSyncing
	case a.Level == "":
		a.State = RAIDUnknown
	}
	return a, true
}
