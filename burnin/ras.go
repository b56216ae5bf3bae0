package burnin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// RAS is what rasdaemon has recorded: every event that it saw, and the kernel's
// counters by label. The two disagree on firmware that reports machine checks and
// counts nothing, so both are read.
var RAS = Probe[RASEvents]{
	Spec: ProbeSpec{
		Name:     "ras",
		Command:  always("ras-mc-ctl --errors; e=$?; echo; ras-mc-ctl --error-count || e=$?; [ $e = 0 ]"),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Tool:     "ras-mc-ctl",
		AnyExit:  true,
		Deadline: time.Minute,
		Root:     true,
	},
	Parse: parseRAS,
}

// RASEvents are the events on record. The record outlives a boot: an event may be
// older than the test.
type RASEvents struct {
	Complete bool // the whole answer is there
	Events   []RASEvent
	Counts   []EDACPlace
	Denied   []string // kinds of event that the tool says there are none of: "Memory"
}

// RASEvent is one recorded event.
type RASEvent struct {
	Section string // "MCE", "Memory controller", "PCIe AER", "Disk" …
	Kind    EventKind
	Count   int
	Label   string // of the DIMM
	Text    string
}

// OfMemory reports whether the event speaks of memory or of the processor's checks.
func (e *RASEvent) OfMemory() bool {
	low := strings.ToLower(e.Section)
	return strings.HasPrefix(low, "mce") || strings.HasPrefix(low, "memory") || strings.HasPrefix(low, "extlog") ||
		strings.HasPrefix(low, "arm") || strings.HasPrefix(low, "cxl")
}

var (
	rasNone    = regexp.MustCompile(`^No (.+?) (?:errors|events)\.?$`)
	rasSection = regexp.MustCompile(`^([A-Z][A-Za-z ]+?) events:$`)
	rasEvent   = regexp.MustCompile(`^(\d+) \S`)
	// "1 2024-05-01 10:11:12 +0000 3 Corrected error(s): memory read error at CPU_SrcID#0_… location: 0:0:0:-1"
	rasMemory    = regexp.MustCompile(`(\d+) (?:Corrected|Uncorrected|Fatal|Deferred|Info) error\(s\): .*? at (.*?) location:`)
	rasCountHead = regexp.MustCompile(`^Label\s+CE\s+UE$`)
	rasCountLine = regexp.MustCompile(`^(.*\S)\s+(\d+)\s+(\d+)$`)
)

func parseRAS(e *Evidence) (RASEvents, error) {
	body, ended := e.Body()
	out := RASEvents{Complete: ended && (e.Exit == nil || *e.Exit == 0)}
	section, counts, known := "", false, false
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			section = ""
		case rasCountHead.MatchString(line):
			counts, known = true, true
		case rasNone.MatchString(line):
			known = true
			out.Denied = append(out.Denied, rasNone.FindStringSubmatch(line)[1])
		case rasSection.MatchString(line):
			known = true
			section = rasSection.FindStringSubmatch(line)[1]
		case section != "" && rasEvent.MatchString(line):
			out.Events = append(out.Events, rasEventOf(section, line))
		case counts && rasCountLine.MatchString(line):
			p, err := rasCount(line)
			if err != nil {
				return RASEvents{}, err
			}
			out.Counts = append(out.Counts, p)
		}
	}
	if !known {
		return RASEvents{}, rasFailure(string(body) + "\n" + string(e.Err))
	}
	return out, nil
}

func rasFailure(text string) error {
	switch {
	case strings.Contains(text, "unable to open database"), strings.Contains(text, "no such table"):
		return errors.New("ras: rasdaemon has no record; start rasdaemon before the load")
	case strings.Contains(text, "drivers are not loaded"), strings.Contains(text, "drivers not loaded"):
		return errNoEDAC
	default:
		return errors.New("ras: this is no output of ras-mc-ctl --errors or --error-count")
	}
}

func rasEventOf(section, line string) RASEvent {
	ev := RASEvent{Section: section, Kind: wordsKind(line), Count: 1, Text: line}
	if m := rasMemory.FindStringSubmatch(line); m != nil {
		ev.Count, ev.Label = max(1, atoi(m[1])), plainIdentity(m[2])
	}
	return ev
}

// wordsKind reads how bad an event is from its words. "Uncorrected" holds
// "corrected", so the bad words are looked for first.
func wordsKind(text string) EventKind {
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "fatal") && !strings.Contains(low, "non-fatal"):
		return EventFatal
	case containsAny(low, []string{"uncorrect", "deferred", "uecc", "non-fatal", "recoverable", "unrecovered"}):
		return EventUncorrected
	case containsAny(low, []string{"corrected", "correctable", "cecc"}):
		return EventCorrected
	default:
		return EventUnclear
	}
}

func rasCount(line string) (EDACPlace, error) {
	m := rasCountLine.FindStringSubmatch(line)
	p, err := edacPlace(m[1], m[1], m[2], m[3])
	if err != nil {
		return EDACPlace{}, fmt.Errorf("ras: %w", err)
	}
	return p, nil
}
