package burnin

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	// "EDAC MC1: 1 CE memory read error on CPU_SrcID#1_Channel#1_DIMM#0 (channel:1 …"
	edacForm = regexp.MustCompile(`EDAC (?:\S+ )?MC\d+: (\d+) (CE|UE) (.*)$`)
	edacPart = regexp.MustCompile(` on (\S+)`)
	// "{1}[Hardware Error]: event severity: corrected"
	ghesSeverity = regexp.MustCompile(`\[Hardware Error\]:\s+event severity: (\w+)`)
	// "[Hardware Error]: Corrected error, no action required." of AMD's decoder
	amdSeverity = regexp.MustCompile(`\[Hardware Error\]:\s+(?:Error Status: )?(Corrected|Uncorrected|Deferred|Fatal|System Fatal)\b`)
	// "pcieport 0000:15:01.0: AER: Corrected error received: 0000:19:00.0"
	aerForm = regexp.MustCompile(`AER: (?:Multiple )?(Corrected|Uncorrected(?: \((Non-Fatal|Fatal)\))?|Uncorrectable(?: \((Non-Fatal|Fatal)\))?) error`)
	// "pcieport 0000:16:00.0: DPC: containment event, status:0x1f01 source:0x0000"
	dpcForm = regexp.MustCompile(`DPC: containment event`)
	// "nvme 0000:19:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer"
	aerBusError = regexp.MustCompile(`PCIe Bus Error: severity=(Corrected|Uncorrected \((Non-Fatal|Fatal)\))`)
)

const hardwareError = "[Hardware Error]"

// memoryEvent looks for an error of memory or of the processor's own checks.
func (d *KernelLogData) memoryEvent(i int) bool {
	l := d.Lines[i]
	ev := KernelEvent{Count: 1, Text: l.Text, Time: l.Time, Stamp: l.Stamp}
	switch {
	case edacForm.MatchString(l.Text):
		m := edacForm.FindStringSubmatch(l.Text)
		ev.Count, ev.Kind = max(1, atoi(m[1])), EventCorrected
		if m[2] == "UE" {
			ev.Kind = EventUncorrected
		}
		if part := edacPart.FindStringSubmatch(m[3]); part != nil {
			ev.Part = part[1]
		}
	case ghesSeverity.MatchString(l.Text):
		section := d.ghesSection(i)
		if section == "PCIe error" {
			return false // its AER lines follow
		}
		ev.Own = strings.HasSuffix(section, "processor error")
		ev.Kind = severityKind(ghesSeverity.FindStringSubmatch(l.Text)[1])
	case amdSeverity.MatchString(l.Text):
		ev.Kind = severityKind(amdSeverity.FindStringSubmatch(l.Text)[1])
		ev.Own = processorsOwn(d.amdReport(i))
	case strings.Contains(l.Text, hardwareError) && mceStatus.MatchString(l.Text):
		status, err := strconv.ParseUint(mceStatus.FindStringSubmatch(l.Text)[2], 16, 64)
		ev.Kind = EventCorrected
		if err != nil || status&mceUncorrected != 0 {
			ev.Kind = EventUncorrected
		}
		ev.Own = processorsOwn(l.Text)
	case strings.HasPrefix(l.Text, "Memory failure: 0x"), strings.Contains(l.Text, "Machine Check Exception"),
		strings.Contains(l.Text, "Uncorrected hardware memory error"):
		ev.Kind = EventUncorrected
	case strings.Contains(l.Text, checksLogged):
		if d.checkTold(i) {
			return true
		}
		ev.Kind = EventUnclear // the events themselves are in mcelog or rasdaemon
	}
	if ev.Kind == "" {
		return false
	}
	d.Memory = append(d.Memory, ev)
	return true
}

// ghesSection is of what the firmware's report that begins in line i is, "memory error",
// "PCIe error": reports of all parts begin alike.
func (d *KernelLogData) ghesSection(i int) string {
	for _, l := range d.after(i) {
		if ghesSeverity.MatchString(l.Text) {
			break // the next report
		}
		if _, section, ok := strings.Cut(l.Text, "section_type: "); ok {
			return strings.TrimSpace(section)
		}
	}
	return ""
}

// severityKind reads the words of GHES (UEFI, appendix N) and of AMD's decoder.
func severityKind(word string) EventKind {
	switch strings.ToLower(word) {
	case "corrected":
		return EventCorrected
	case "info", "informational":
		return ""
	case "fatal", "system fatal":
		return EventFatal
	default: // recoverable, uncorrected, deferred
		return EventUncorrected
	}
}

// aerEvent looks for an error of a PCIe link.
func (d *KernelLogData) aerEvent(l KernelLine) bool {
	words := ""
	if m := aerForm.FindStringSubmatch(l.Text); m != nil {
		words = m[0]
	} else if m := aerBusError.FindStringSubmatch(l.Text); m != nil {
		words = m[0]
	}
	if words == "" && dpcForm.MatchString(l.Text) {
		words = "Uncorrected" // the port cut the link off because of such an error
	}
	if words == "" {
		return false
	}
	ev := KernelEvent{Count: 1, Text: l.Text, Time: l.Time, Kind: EventUncorrected}
	switch {
	case strings.Contains(words, "Corrected") && !strings.Contains(words, "Uncorrected"):
		ev.Kind = EventCorrected
	case strings.Contains(words, "(Fatal)"):
		ev.Kind = EventFatal
	}
	if all := anyAddress.FindAllString(l.Text, -1); len(all) > 0 {
		ev.Address = normalAddress(all[len(all)-1]) // the last one is where the error came from
	}
	d.AER = append(d.AER, ev)
	return true
}
