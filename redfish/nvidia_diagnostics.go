package redfish

import (
	"regexp"
	"strings"
)

// boardDumpTypes are the dumps of an HGX baseboard's controller where it lists none
// itself: they read and disturb nothing.
var boardDumpTypes = []string{"DiagnosticType=SelfTest", "DiagnosticType=FPGA", "DiagnosticType=EROT"}

const boardDumpSource = "NVIDIA nvdebug guide, collectors R3 to R7; the action was seen on DGX H100 (Systems/HGX_Baseboard_0/LogServices/Dump)"

// notInName are characters that a name of ours does not have.
var notInName = regexp.MustCompile(`[^a-z0-9.]+`)

// boardDumps are those of the accelerator baseboards, whoever built the machine around.
// A service for debug tokens has the same action and collects none.
func boardDumps(services []collectService) []diagnosticWay {
	var ways []diagnosticWay
	for _, s := range services {
		if s.owner != "baseboard" || s.service != "Dump" {
			continue
		}
		types := []string(s.OEM)
		if len(types) == 0 {
			types = boardDumpTypes
		}
		for _, t := range types {
			short := strings.ToLower(strings.TrimPrefix(t, "DiagnosticType="))
			ways = append(ways, diagnosticWay{
				Diagnostic: Diagnostic{
					Name: "board-" + strings.Trim(notInName.ReplaceAllString(short, "-"), "-"), What: "dump of " + s.id + ": " + short,
					Usual: true, Known: string(documented), Source: boardDumpSource,
				},
				action: string(s.Target), entries: s.entries, body: map[string]string{"DiagnosticDataType": "OEM", "OEMDiagnosticDataType": t},
			})
		}
	}
	return ways
}
