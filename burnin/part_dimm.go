package burnin

import (
	"regexp"
	"strings"
)

// dimmPart names a memory module by what the board prints beside its socket.
func dimmPart(label, serial string) Part {
	if label == "" {
		label = "without label"
	}
	if !strings.HasPrefix(strings.ToUpper(label), "DIMM") {
		label = "DIMM " + label
	}
	return Part{Class: ClassDIMM, Name: label, Serial: serial}
}

var memoryPart = Part{Class: ClassDIMM, Name: "memory"}

// dimmPlace is where a socket is: which processor it belongs to, which channel of
// it, and which of the channel's sockets. Channel is "" where labels do not tell it.
type dimmPlace struct{ cpu, channel, slot string }

// dimmForms are the ways in which boards label sockets. The label alone, the bank
// and both together are tried.
var dimmForms = []struct {
	form               *regexp.Regexp
	cpu, channel, slot int // groups; 0 = the form does not tell
}{
	{regexp.MustCompile(`^P(\d+)[-_ ]?DIMM[-_ ]?([A-P])(\d*)$`), 1, 2, 3},                           // Supermicro: P1-DIMMA1
	{regexp.MustCompile(`^CPU(\d+)[-_ ](?:DIMM[-_ ]?)?([A-P])(\d*)$`), 1, 2, 3},                     // CPU0_DIMM_A1
	{regexp.MustCompile(`^DIMM[-_ ](?:P|CPU)(\d+)[-_ ]([A-P])(\d*)$`), 1, 2, 3},                     // DIMM_P0_A0
	{regexp.MustCompile(`^P(\d+) CHANNEL ([A-P])(?: DIMM (\d+))?$`), 1, 2, 3},                       // AMI on EPYC: bank P0 CHANNEL A, locator DIMM 0
	{regexp.MustCompile(`^(?:P\d+)?_?NODE ?(\d+)[_ ]CHANNEL ?(\d+)(?:[_ ]DIMM ?(\d+))?$`), 1, 2, 3}, // AMI on Xeon: P0_Node0_Channel0_Dimm0
	{regexp.MustCompile(`^PROC (\d+) DIMM (\d+)$`), 1, 0, 2},                                        // HPE
	{regexp.MustCompile(`^(?:DIMM )?([A-D])(\d+)$`), 1, 0, 2},                                       // Dell: the letter is the processor
	{regexp.MustCompile(`^CHANNEL([A-P])-DIMM(\d+)$`), 0, 1, 2},                                     // ASRock Rack, one processor
}

// placeOf reads a label; ok is false for one of a form that we do not know.
func placeOf(locator, bank string) (p dimmPlace, ok bool) {
	for _, label := range []string{locator, bank + " " + locator, bank} {
		label = strings.ToUpper(strings.TrimSpace(label))
		for _, f := range dimmForms {
			if m := f.form.FindStringSubmatch(label); m != nil {
				p = dimmPlace{cpu: group(m, f.cpu), channel: group(m, f.channel), slot: group(m, f.slot)}
				if f.cpu == 0 {
					p.cpu = "0"
				}
				return p, true
			}
		}
	}
	return dimmPlace{}, false
}

func group(m []string, n int) string {
	if n == 0 {
		return ""
	}
	return m[n]
}

var labelNoise = regexp.MustCompile(`[^A-Z0-9]+`)

// sameLabel compares what the firmware and the BMC call a socket: "A1" and "DIMM
// A1", "PROC 1 DIMM 3" and "PROC 1 DIMM 3".
func sameLabel(a, b string) bool {
	bare := func(s string) string {
		return strings.TrimPrefix(labelNoise.ReplaceAllString(strings.ToUpper(s), ""), "DIMM")
	}
	return bare(a) != "" && bare(a) == bare(b)
}

// sameModule compares serial numbers of a module: a BMC may print maker and date
// before the number that the firmware shows.
func sameModule(a, b string) bool {
	a, b = strings.ToUpper(a), strings.ToUpper(b)
	if len(a) > len(b) {
		a, b = b, a
	}
	return len(a) >= 6 && strings.HasSuffix(b, a)
}
