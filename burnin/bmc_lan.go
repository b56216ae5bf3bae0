package burnin

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// IPMILan is the network identity of the BMC as the host sees it over its own bus.
// That MAC equal to the one of the BMC that we drive proves the two one machine.
var IPMILan = Probe[BMCLan]{
	Spec: ProbeSpec{
		Name: "bmc-lan",
		// No driver is loaded for it: a burn-in leaves a customer's host as it was.
		Command:  always(`ok=1; for c in 1 2 3 8; do ipmitool lan print $c 2>/dev/null && ok=0; done; [ $ok = 0 ]`),
		Phases:   []Phase{PhaseBefore},
		Tool:     "ipmitool",
		Version:  "ipmitool -V",
		AnyExit:  true,
		Deadline: time.Minute, // a busy BMC answers its host slowly
		Root:     true,
	},
	Parse: parseBMCLan,
}

// BMCLan are the BMC's network ports.
type BMCLan struct {
	MACs      []string // one a channel, in the order of channels, without zeros
	Addresses []string
}

func parseBMCLan(e *Evidence) (BMCLan, error) {
	body, _ := e.Body()
	var lan BMCLan
	for line := range strings.Lines(string(body)) {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "MAC Address":
			if mac := plainMAC(value); mac != "" && !slices.Contains(lan.MACs, mac) {
				lan.MACs = append(lan.MACs, mac)
			}
		case "IP Address":
			if value != "" && value != "0.0.0.0" {
				lan.Addresses = append(lan.Addresses, value)
			}
		}
	}
	if len(lan.MACs) == 0 {
		return BMCLan{}, errors.New("bmc-lan: the BMC names no MAC address; is there an IPMI device on this host?")
	}
	return lan, nil
}
