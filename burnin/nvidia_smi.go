package burnin

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// NvidiaSMI is the full query of NVIDIA's management tool. Its parser reads the
// XML of -q -x (document types v9 to v13, drivers 390 to 610), the text of -q with
// all or some sections, and the CSV of --query-gpu, and recognises each by itself.
var NvidiaSMI = Probe[NvidiaLog]{
	Spec: ProbeSpec{
		Name:     "nvidia-smi",
		Command:  always("nvidia-smi -q -x"),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Sampled:  true,
		Sample:   always(nvidiaSampleCommand()),
		Family:   "nvidia-smi",
		Tool:     "nvidia-smi",
		Version:  "nvidia-smi --version",
		AnyExit:  true,
		Deadline: 2 * time.Minute, // eight GPUs without persistence mode are initialised one by one
	},
	Parse: parseNvidiaSMI,
}

// always is a command that does not depend on the profile.
func always(line string) func(*profiles.Profile) string {
	return func(*profiles.Profile) string { return line }
}

// NvidiaForm is the form in which nvidia-smi printed its answer.
type NvidiaForm string

// Forms of output.
const (
	NvidiaXML  NvidiaForm = "xml"
	NvidiaText NvidiaForm = "text"
	NvidiaCSV  NvidiaForm = "csv"
)

// NvidiaLog is what nvidia-smi said. A machine whose driver does not work is a
// reading too: then Failure is set and there are no GPUs.
type NvidiaLog struct {
	Form     NvidiaForm
	Complete bool   // the list of GPUs is whole: a GPU that is not in it was not there
	Driver   string // version of the kernel driver, "" when not shown
	CUDA     string
	Library  string // NVML version, from the tool's --version; "" when not known
	Attached Opt[float64]
	GPUs     []NvidiaGPU
	Failure  *NvidiaFailure
	Messages []NvidiaMessage // lines beside the data: warnings, GPUs that do not answer
}

// NvidiaMode is a mode that holds now and one that holds after the next reset.
type NvidiaMode struct{ Current, Pending Opt[string] }

// NvidiaECC are error counts of one lifetime. Newer drivers split SRAM errors into
// parity and SEC-DED: their sum is here.
type NvidiaECC struct {
	SRAMCorrected, SRAMUncorrected Opt[float64]
	DRAMCorrected, DRAMUncorrected Opt[float64]
}

// NvidiaGPU is one GPU. Sizes are MiB, rates MB/s, powers W, temperatures °C.
type NvidiaGPU struct {
	Index   int    // the tool's own number; -1 when not known
	Address string // 0000:a8:00.0
	PCIID   string // 10de:2330, "" when not shown

	Product, Serial, UUID, Module      Opt[string]
	VBIOS, Firmware, Board             Opt[string] // Board: part number
	RecoveryAction, ResetRequired      Opt[string]
	DrainRecommended, PerformanceState Opt[string]

	MIG, ECCMode        NvidiaMode
	License             Opt[string] // License Status of the vGPU product: "Licensed", without its date
	Volatile, Aggregate NvidiaECC
	SRAMThreshold       Opt[string]
	UncorrectedTotal    Opt[float64] // volatile, SRAM and DRAM: what a sample carries

	RemapCorrectable, RemapUncorrectable Opt[float64]
	RemapPending, RemapFailure           Opt[string]
	ChannelRepair, TPCRepair             Opt[string] // pending
	Unrepairable                         Opt[string]
	RetiredDouble                        Opt[float64] // pages
	RetirePending                        Opt[string]

	Memory, BAR1           Opt[float64]
	LinkGen, LinkWidth     Opt[float64] // as trained now
	Replays                Opt[float64]
	Transmit, Receive      Opt[float64]
	Utilisation            Opt[float64] // percent
	Temperature, PowerDraw Opt[float64]
	NvidiaStrain           // what is watched under load

	FabricState, FabricStatus Opt[string]
	FabricHealth              []NvidiaWord // the lines of the fabric's health

	Faults []string // "ECC mode reads \"GPU is lost\"": where the GPU did not answer
	Lost   string   // the word that says the whole GPU does not answer, else ""
}

// NvidiaWord is a field that is kept by its name.
type NvidiaWord struct {
	Name  string
	Value Opt[string]
}

// errNvidiaOther is why output is no answer of nvidia-smi.
var errNvidiaOther = errors.New("this is no output of nvidia-smi -q, -q -x or --query-gpu")

func parseNvidiaSMI(e *Evidence) (NvidiaLog, error) {
	body, ended := e.Body()
	if bytes.IndexByte(body, '\r') >= 0 {
		body = bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n"))
	}
	log, err := parseNvidiaBody(body, ended)
	log.Library = nvmlVersion(e.ToolVersion)
	log.Messages = append(log.Messages, nvidiaMessages(string(e.Err), true)...)
	if err == nil {
		log.number()
		return log, nil
	}
	if f := nvidiaFailure(string(body)+"\n"+string(e.Err), e.Exit); f != nil {
		log.Failure = f
		return log, nil
	}
	return NvidiaLog{}, fmt.Errorf("nvidia-smi: %w", err)
}

func parseNvidiaBody(body []byte, ended bool) (NvidiaLog, error) {
	switch {
	case bytes.Contains(body, []byte("<nvidia_smi_log")):
		return parseNvidiaXML(body)
	case bytes.Contains(body, []byte("NVSMI LOG")), looksLikeNvidiaText(string(body)):
		return parseNvidiaText(string(body), ended)
	case looksLikeNvidiaCSV(string(body)):
		return parseNvidiaCSV(string(body), ended)
	}
	return NvidiaLog{Messages: nvidiaMessages(string(body), true)}, errNvidiaOther
}

// number gives every GPU that does not carry its index the one that nvidia-smi
// counts by: in order, with gaps where a GPU is lost.
func (l *NvidiaLog) number() {
	gone := map[int]bool{}
	for _, m := range l.Messages {
		if m.Kind == NvidiaLost && m.Index >= 0 {
			gone[m.Index] = true
		}
	}
	next := 0
	for i := range l.GPUs {
		for gone[next] {
			next++
		}
		if l.GPUs[i].Index < 0 {
			l.GPUs[i].Index = next
		}
		next++
	}
}

// Usable says why no GPU can be judged from the log, or nil.
func (l *NvidiaLog) Usable() error {
	if l.Failure != nil {
		return fmt.Errorf("nvidia-smi failed: %s", l.Failure.Text)
	}
	return nil
}

// ByAddress returns the GPU at a PCI address, or nil.
func (l *NvidiaLog) ByAddress(address string) *NvidiaGPU {
	for i := range l.GPUs {
		if l.GPUs[i].Address == address {
			return &l.GPUs[i]
		}
	}
	return nil
}

// nvmlVersion finds the library's version in what nvidia-smi --version prints.
func nvmlVersion(text string) string {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.EqualFold(strings.TrimSpace(name), "nvml version") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
