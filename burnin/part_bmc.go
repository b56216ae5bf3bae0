package burnin

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

// bmcClasses tell by its words which class of part a sensor or an event of a BMC is
// about. The first that fits counts: a power supply's fan is a fan, and a GPU's
// inlet is not the machine's.
var bmcClasses = []struct {
	class Class
	form  *regexp.Regexp
}{
	{ClassFan, regexp.MustCompile(`(?i)fan|tach`)},
	{ClassPSU, regexp.MustCompile(`(?i)psu|power ?suppl|\bP/?S ?_?\d|power unit`)},
	{ClassDIMM, regexp.MustCompile(`(?i)dimm|memory|\bmem\b`)},
	{classGPU, regexp.MustCompile(`(?i)gpu|sxm|nvswitch|\bHBM\b|retimer|\bGB_|\bHGX`)},
	{ClassCPU, regexp.MustCompile(`(?i)cpu|processor|\bproc\b|\bDTS\b`)},
	{ClassNVMe, regexp.MustCompile(`(?i)nvme|ssd|\bM[._]?2|\bU[._]2|drive|\bHD\b`)},
	{ClassNIC, regexp.MustCompile(`(?i)\bNIC|_NIC|LOM|OCP|CX\d|QSFP|OSFP|ethernet|infiniband`)},
	{ClassAir, regexp.MustCompile(`(?i)inlet|ambient|intake`)},
}

// classGPU stands for whichever class the GPUs of the profile are of.
const classGPU Class = "gpu"

// contextClasses are Redfish's contexts, for a sensor whose name says nothing. A
// context Intake says nothing either: a DGX H100 has it on everything.
var contextClasses = map[string]Class{
	"Fan": ClassFan, "PowerSupply": ClassPSU, "CPU": ClassCPU, "Memory": ClassDIMM, "MemorySubsystem": ClassDIMM, "GPU": classGPU, "GPUSubsystem": classGPU,
	"Accelerator": classGPU, "StorageDevice": ClassNVMe, "NetworkingDevice": ClassNIC,
}

// bmcClass is the class of part that words of a BMC are about.
func bmcClass(words, context string, p *profiles.Profile) Class {
	class := contextClasses[context]
	for _, c := range bmcClasses {
		if c.form.MatchString(words) {
			class = c.class
			break
		}
	}
	if class == classGPU {
		return gpuClass(p)
	}
	if class == "" {
		return ClassMachine
	}
	return class
}

var (
	supplyNumber = regexp.MustCompile(`(?i)(?:psu|power supply(?: bay)?|\bP/?S)[ _.-]*(?:slot[ ._-]*)?(\d+)`)
	fanNumber    = regexp.MustCompile(`(?i)fan[ _.-]*(?:embedded[ ._-]*|sys[ _]*|module[ _]*)?(\d+ ?[A-Z]?)\b`)
	cpuNumber    = regexp.MustCompile(`(?i)(?:cpu|processor|proc)[ _]*(\d)`)
	moduleNumber = regexp.MustCompile(`(?i)sxm[ _]?(\d+)`)
	busPlace     = regexp.MustCompile(`(?i)bus (\d+) device (\d+) function (\d)`)
	dimmByCPU    = regexp.MustCompile(`(?i)processor (\d+),? (?:memory module|dimm) (\d+)`)
)

// bmcPart names the part that an event or a sensor of a BMC is about, by the label
// that the BMC gives it, and with its serial where the BMC's list of parts tells it.
// name is what to call it where its words tell no label.
func bmcPart(r *Readings, class Class, words, name string) Part {
	part := Part{Class: class, Name: firstWord(name, machinePart.Name)}
	labelled := func(form *regexp.Regexp, all string) {
		switch m := form.FindString(words); {
		case m != "":
			part.Name = strings.TrimSpace(m)
		case part.Name == machinePart.Name:
			part.Name = all
		}
	}
	switch class {
	case ClassDIMM:
		return dimmOf(r, words, part.Name)
	case ClassPSU:
		labelled(supplyNumber, "power supplies")
		if m := supplyNumber.FindStringSubmatch(words); m != nil {
			label, serial := supplyByNumber(r, m[1])
			part.Name, part.Serial = firstWord(label, part.Name), serial
		}
	case ClassFan:
		if !supplyNumber.MatchString(words) { // a supply's own fan is called as the BMC calls it
			labelled(fanNumber, "fans")
		}
	case ClassCPU:
		labelled(cpuNumber, "CPUs")
	case ClassSXM, ClassPCIeGPU:
		if m := moduleNumber.FindStringSubmatch(words); m != nil {
			part.Name = "GPU SXM" + m[1]
		}
		if m := busPlace.FindStringSubmatch(words); m != nil {
			part.Address = decimalAddress(m[1], m[2], m[3])
		}
	default:
		if m := busPlace.FindStringSubmatch(words); m != nil {
			part.Address = decimalAddress(m[1], m[2], m[3])
			part.Name = "PCIe device " + part.Address
		}
	}
	return part
}

// supplyByNumber finds a power supply in the BMC's list of parts.
func supplyByNumber(r *Readings, number string) (label, serial string) {
	for _, s := range Read(r, BMCInventory, PhaseBMC).Value.PSUs {
		if m := supplyNumber.FindStringSubmatch(s.Label); m != nil && m[1] == number && s.Present {
			return strings.TrimSuffix(s.Label, " Status"), s.Serial
		}
	}
	return "", ""
}

var labelToken = regexp.MustCompile(`[A-Za-z0-9_#~-]+`)

// dimmOf finds the memory module whose label stands in words, as the firmware or
// the BMC writes it; where no known label does, any label of the usual form.
func dimmOf(r *Readings, words, name string) Part {
	if m := dimmByCPU.FindStringSubmatch(words); m != nil { // "Processor 1, Memory Module 3" of the socket PROC 1 DIMM 3
		words += " PROC " + m[1] + " DIMM " + m[2]
	}
	tokens := labelToken.FindAllString(words, -1)
	if part, ok := knownDIMM(r, tokens); ok {
		return part
	}
	for i, t := range tokens {
		next := ""
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		if label := dimmLabel(t, next); label != "" {
			return dimmPart(label, "")
		}
	}
	if name == "" || name == machinePart.Name || strings.Contains(name, "#0x") {
		return memoryPart
	}
	return Part{Class: ClassDIMM, Name: "memory (" + name + ")"}
}

// knownDIMM looks for the label of a socket of this machine; the longest wins.
func knownDIMM(r *Readings, tokens []string) (Part, bool) {
	view := viewMemory(r)
	for n := min(4, len(tokens)); n > 0; n-- {
		for i := 0; i+n <= len(tokens); i++ {
			text := strings.Join(tokens[i:i+n], " ")
			if strings.Trim(text, "0123456789 ") == "" {
				continue // a bare number is no label
			}
			for _, d := range view.dimms {
				if sameLabel(text, d.label) {
					return dimmPart(d.label, d.serial), true
				}
			}
		}
	}
	return Part{}, false
}

// dimmLabel is the label in a word, or in the one behind the word DIMM.
func dimmLabel(word, next string) string {
	const digits = "0123456789"
	_, placed := placeOf(word, "")
	switch {
	case placed && strings.ContainsAny(word, digits):
		return word
	case strings.EqualFold(word, "DIMM") && strings.ContainsAny(next, digits):
		return next
	case len(word) > len("DIMM")+1 && strings.Contains(strings.ToUpper(word), "DIMM"):
		return word
	}
	return ""
}

// decimalAddress is a PCI address of the decimal numbers in which iDRAC writes it.
func decimalAddress(bus, device, function string) string {
	return fmt.Sprintf("0000:%02x:%02x.%s", atoi(bus), atoi(device), function)
}
