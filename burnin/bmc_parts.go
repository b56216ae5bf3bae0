package burnin

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (t *bmcReader) parts() {
	for _, b := range t.bodies {
		switch b.kind() {
		case "Memory":
			if t.system == nil || strings.HasPrefix(b.uri, t.system.uri+"/") { // a GPU's memory stands under its baseboard
				t.out.DIMMs = append(t.out.DIMMs, b.dimm())
			}
		case "Processor":
			if b.text("ProcessorType") == "GPU" {
				t.addGPU(b.part(placeLabel(b)))
			}
		case "PCIeDevice":
			t.addCard(b)
		case "Drive":
			t.addDrive(b)
		case "PowerSupply":
			t.addPSU(b)
		case "Power":
			list, _ := b.at("PowerSupplies").([]any)
			for _, item := range list {
				if fields, ok := item.(map[string]any); ok {
					t.addPSU(redfishBody{uri: b.uri, fields: fields})
				}
			}
		}
	}
	t.labelGPUs()
	t.firmware()
}

func (b redfishBody) part(label string) BMCPart {
	return BMCPart{
		Label: label, Serial: b.text("SerialNumber"), Model: b.text("Model"),
		Present: b.text("Status", "State") != "Absent", uri: b.uri,
	}
}

// placeLabel is the label that the BMC gives a place, by whichever property it uses.
func placeLabel(b redfishBody) string {
	return firstWord(
		b.text("Location", "PartLocation", "ServiceLabel"),
		b.text("PhysicalLocation", "PartLocation", "ServiceLabel"),
		b.text("Slot", "Location", "PartLocation", "ServiceLabel"),
	)
}

func (b redfishBody) dimm() BMCPart {
	p := b.part(firstWord(placeLabel(b), b.text("DeviceLocator"), b.text("Name"), b.text("Id")))
	p.Size = b.number("CapacityMiB")
	p.Present = p.Present && !(p.Size.Set && p.Size.V == 0)
	p.Socket, p.Channel = b.number("MemoryLocation", "Socket"), b.number("MemoryLocation", "Channel")
	return p
}

func (t *bmcReader) addGPU(p BMCPart) { t.out.GPUs = append(t.out.GPUs, p) }

// addCard takes a PCIe device for a GPU where the BMC numbers it as one; a device
// that only has a GPU's serial gives its label, later.
func (t *bmcReader) addCard(b redfishBody) {
	oem, _ := b.at("Oem").(map[string]any)
	for _, vendor := range oem {
		if m, ok := vendor.(map[string]any); ok {
			if slot := looseNumber(m["GPUSlot"]); slot.Set {
				t.addGPU(b.part("slot " + strconv.FormatFloat(slot.V, 'f', -1, 64)))
			}
		}
	}
}

var (
	slotInID = regexp.MustCompile(`(?i)\bslot[._ ](\d+)`)
	bayInID  = regexp.MustCompile(`(?i)\bbay[._ ](\d+)`)
)

// labelGPUs gives a GPU without a label that of the card with its serial, else the
// slot in its id.
func (t *bmcReader) labelGPUs() {
	cards := map[string]string{}
	for _, b := range t.bodies {
		if b.kind() == "PCIeDevice" && b.text("SerialNumber") != "" {
			cards[b.text("SerialNumber")] = placeLabel(b)
		}
	}
	for i := range t.out.GPUs {
		g := &t.out.GPUs[i]
		id := g.uri[strings.LastIndexByte(g.uri, '/')+1:]
		if slot := slotInID.FindStringSubmatch(id); g.Label == "" && slot != nil {
			id = "slot " + slot[1]
		}
		g.Label = firstWord(g.Label, cards[g.Serial], id)
	}
	t.out.GPUs = withoutTwins(t.out.GPUs)
}

// addDrive adds a drive; a body with neither serial nor model only names a place
// that an operating system once filled.
func (t *bmcReader) addDrive(b redfishBody) {
	label := placeLabel(b)
	if strings.Contains(b.text("Location", "InfoFormat"), "Bay") {
		label = firstWord(label, b.text("Location", "Info"))
	}
	if bay := bayInID.FindStringSubmatch(b.text("Description") + " " + b.text("Id")); label == "" && bay != nil {
		label = "bay " + bay[1]
	}
	p := b.part(firstWord(label, b.text("Name"), b.text("Id")))
	p.Size = b.number("CapacityBytes")
	words := strings.ToLower(b.uri + " " + b.text("Protocol") + " " + b.text("Description") + " " + b.text("Model") + " " + b.text("Name"))
	p.NVMe = strings.Contains(words, "nvme") || strings.Contains(words, "pcie ssd")
	if p.Serial == "" && p.Model == "" {
		return
	}
	t.out.Drives = withoutTwins(append(t.out.Drives, p))
}

func (t *bmcReader) addPSU(b redfishBody) {
	p := b.part(firstWord(placeLabel(b), b.text("Name"), b.text("MemberId")))
	t.out.PSUs = withoutTwins(append(t.out.PSUs, p))
}

// withoutTwins drops a part whose serial was seen before: BMCs show one part under
// several links.
func withoutTwins(parts []BMCPart) []BMCPart {
	seen := map[string]bool{}
	return slices.DeleteFunc(parts, func(p BMCPart) bool {
		twin := p.Serial != "" && seen[p.Serial]
		seen[p.Serial] = true
		return twin
	})
}

// looseNumber reads a number of JSON however the tool wrote it: as number, as
// string with or without unit ("39 °C"), or as an object that holds it as "value".
// Anything else is no number; null is absent.
func looseNumber(v any) Opt[float64] {
	switch v := v.(type) {
	case float64:
		return Opt[float64]{V: v, Set: !math.IsNaN(v) && !math.IsInf(v, 0), Text: strconv.FormatFloat(v, 'f', -1, 64)}
	case json.Number:
		return looseNumber(v.String())
	case string:
		return looseText(v)
	case map[string]any:
		return looseNumber(v["value"])
	default:
		return Opt[float64]{}
	}
}

var looseForm = regexp.MustCompile(`^[-+]?(?:0x[0-9a-f]+|[0-9][0-9,']*(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)`)

// digitMarks takes out what groups digits.
var digitMarks = strings.NewReplacer(",", "", "'", "")

func looseText(text string) Opt[float64] {
	low := strings.ToLower(strings.TrimSpace(text))
	form := looseForm.FindString(low)
	if form == "" {
		return Opt[float64]{Text: text}
	}
	if hex, ok := strings.CutPrefix(form, "0x"); ok {
		n, err := strconv.ParseUint(hex, 16, 53)
		return Opt[float64]{V: float64(n), Set: err == nil, Text: text}
	}
	n, err := strconv.ParseFloat(digitMarks.Replace(form), 64)
	if err != nil || math.IsInf(n, 0) {
		return Opt[float64]{Text: text}
	}
	return Opt[float64]{V: n, Set: true, Text: text}
}
