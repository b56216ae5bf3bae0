package burnin

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// NvidiaFailure is why nvidia-smi could not answer at all.
type NvidiaFailure struct {
	Kind NvidiaFailureKind
	Text string // its own words, one line
}

// NvidiaFailureKind says what does not work.
type NvidiaFailureKind string

// Kinds of failure.
const (
	NvidiaMismatch    NvidiaFailureKind = "driver and library differ"
	NvidiaNotLoaded   NvidiaFailureKind = "driver not loaded"
	NvidiaNoDevices   NvidiaFailureKind = "no devices"
	NvidiaAllLost     NvidiaFailureKind = "GPU lost"
	NvidiaInitFailed  NvidiaFailureKind = "library failed"
	NvidiaNotAllowed  NvidiaFailureKind = "not allowed"
	NvidiaExitFailure NvidiaFailureKind = "exit status"
)

// Blames reports whether a failure is evidence against the machine or its driver,
// and not only a question that was not answered.
func (k NvidiaFailureKind) Blames() bool {
	return k != NvidiaNotAllowed
}

// nvidiaFailures are the lines by which nvidia-smi ends without an answer, in the
// order in which they decide.
var nvidiaFailures = []struct {
	words string
	kind  NvidiaFailureKind
}{
	{"version mismatch", NvidiaMismatch},
	{"unable to determine the device handle", NvidiaAllLost},
	{"gpu is lost", NvidiaAllLost},
	{"couldn't communicate with the nvidia driver", NvidiaNotLoaded},
	{"driver is not loaded", NvidiaNotLoaded},
	{"driver not loaded", NvidiaNotLoaded},
	{"no devices were found", NvidiaNoDevices},
	{"no devices found", NvidiaNoDevices},
	{"insufficient permissions", NvidiaNotAllowed},
	{"failed to initialize nvml", NvidiaInitFailed},
	{"couldn't find libnvidia-ml", NvidiaInitFailed},
	{"nvidia-smi has failed", NvidiaInitFailed},
}

// nvidiaExits are the exit statuses that NVIDIA documents in nvidia-smi(1), and 18
// which it prints with a version mismatch.
var nvidiaExits = map[int]NvidiaFailure{
	8:  {NvidiaExitFailure, "external power cables of a GPU are not attached (exit status 8)"},
	9:  {NvidiaNotLoaded, "the driver is not loaded (exit status 9)"},
	10: {NvidiaExitFailure, "the kernel found an interrupt problem with a GPU (exit status 10)"},
	12: {NvidiaInitFailed, "the NVML library could not be found or loaded (exit status 12)"},
	14: {NvidiaExitFailure, "an infoROM is corrupted (exit status 14)"},
	15: {NvidiaAllLost, "a GPU has fallen off the bus or cannot be reached (exit status 15)"},
	18: {NvidiaMismatch, "driver and library versions differ (exit status 18)"},
}

// nvidiaFailure recognises output that is a failure and no answer.
func nvidiaFailure(text string, exit *int) *NvidiaFailure {
	lower := strings.ToLower(text)
	for _, f := range nvidiaFailures {
		at := strings.Index(lower, f.words)
		if at < 0 {
			continue
		}
		return &NvidiaFailure{Kind: f.kind, Text: lineAt(text, at)}
	}
	if exit != nil {
		if f, ok := nvidiaExits[*exit]; ok {
			return &f
		}
	}
	return nil
}

// lineAt returns the line of text that holds byte at. Lower case can change the
// length of text that is no ASCII, so at is a hint and kept within bounds.
func lineAt(text string, at int) string {
	at = min(at, len(text))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	return strings.TrimSpace(line)
}

// NvidiaMessageKind says what a line beside the data is about.
type NvidiaMessageKind string

// Kinds of message.
const (
	NvidiaLost    NvidiaMessageKind = "lost"    // a GPU does not answer
	NvidiaInfoROM NvidiaMessageKind = "infoROM" // a GPU's infoROM is corrupted
	NvidiaOther   NvidiaMessageKind = "other"
)

// NvidiaMessage is a line that nvidia-smi prints before or behind its answer.
type NvidiaMessage struct {
	Kind    NvidiaMessageKind
	Address string // of the GPU it is about, "" when it does not say
	Index   int    // of the GPU it is about, -1 when it does not say
	Text    string
}

var (
	anyPCIAddress = regexp.MustCompile(`(?i)(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]`)
	gpuNumber     = regexp.MustCompile(`(?i)\bgpu ?([0-9]{1,2}):`)
)

// nvidiaMessages reads lines beside the data. With knownOnly, lines that are not
// understood are left out: stderr may hold what has nothing to do with the GPUs.
func nvidiaMessages(text string, knownOnly bool) []NvidiaMessage {
	var out []NvidiaMessage
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "<") {
			continue
		}
		m := NvidiaMessage{Kind: messageKind(line), Index: -1, Text: line}
		if m.Kind == NvidiaOther && knownOnly {
			continue
		}
		m.Address = normalAddress(anyPCIAddress.FindString(line))
		if n := gpuNumber.FindStringSubmatch(line); n != nil {
			if i, err := strconv.Atoi(n[1]); err == nil {
				m.Index = i
			}
		}
		out = append(out, m)
	}
	return out
}

func messageKind(line string) NvidiaMessageKind {
	lower := strings.ToLower(line)
	switch {
	case strings.Contains(lower, "inforom") && strings.Contains(lower, "corrupt"):
		return NvidiaInfoROM
	case isLostWord(lower):
		return NvidiaLost
	}
	return NvidiaOther
}

// String is the message for people.
func (m NvidiaMessage) String() string { return fmt.Sprintf("nvidia-smi says %q", m.Text) }
