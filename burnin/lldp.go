package burnin

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// LLDP is which port of which switch each network port hears, as lldpd tells it. Its
// parser reads json0, whose shape does not change with the number of entries (lldpcli(8)).
var LLDP = Probe[[]LLDPNeighbour]{
	Spec: ProbeSpec{
		Name:     "lldp",
		Command:  always("lldpcli -f json0 show neighbors"),
		Phases:   []Phase{PhaseBefore},
		Tool:     "lldpcli",
		Version:  "lldpcli -v",
		Deadline: 20 * time.Second,
		Root:     true, // its socket is lldpd's own
	},
	Parse: parseLLDP,
}

// LLDPNeighbour is what one port hears.
type LLDPNeighbour struct {
	Port       string // of this machine: "ens1f0np0"
	Switch     string // the name that it gives itself, else its id
	SwitchPort string // "Ethernet12/1"
	Descr      string // of the switch's port, where it sends one
}

// lldpValue is an entry of json0.
type lldpValue struct {
	Value string `json:"value"`
}

func parseLLDP(e *Evidence) ([]LLDPNeighbour, error) {
	body, _ := e.Body()
	var page struct {
		LLDP []struct {
			Interface []struct {
				Name    string `json:"name"`
				Chassis []struct {
					ID, Name []lldpValue
				} `json:"chassis"`
				Port []struct {
					ID, Descr []lldpValue
				} `json:"port"`
			} `json:"interface"`
		} `json:"lldp"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return nil, fmt.Errorf("lldp: this is no output of lldpcli -f json0: %w%s", err, firstLine(e.Err))
	}
	if page.LLDP == nil {
		return nil, errors.New("lldp: lldpcli shows no list of neighbours" + firstLine(e.Err))
	}
	var out []LLDPNeighbour
	for _, part := range page.LLDP {
		for _, i := range part.Interface {
			n := LLDPNeighbour{Port: i.Name}
			for _, c := range i.Chassis {
				n.Switch = firstWord(n.Switch, lldpText(c.Name), lldpText(c.ID))
			}
			for _, p := range i.Port {
				n.SwitchPort = firstWord(n.SwitchPort, lldpText(p.ID), lldpText(p.Descr))
				n.Descr = firstWord(n.Descr, lldpText(p.Descr))
			}
			if n.Port != "" {
				out = append(out, n)
			}
		}
	}
	return out, nil
}

func lldpText(values []lldpValue) string {
	if len(values) == 0 {
		return ""
	}
	return values[0].Value
}
