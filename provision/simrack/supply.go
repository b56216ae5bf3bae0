package simrack

import (
	"encoding/json"
	"fmt"
)

// SetRedundancy makes the BMC say of its power supplies, as a set, what health is: "OK",
// "Warning" or "Critical", as when a feed is lost.
func (r *Rack) SetRedundancy(machine, health string) error {
	return r.reads(machine, chassisURI+"/Power", "Redundancy", func(group map[string]any) {
		group["Status"] = object{"State": "Enabled", "Health": health}
	})
}

// SetInlet sets the air that comes into the machine, in Celsius.
func (r *Rack) SetInlet(machine string, celsius int) error {
	return r.reads(machine, chassisURI+"/Thermal", "Temperatures", func(inlet map[string]any) {
		inlet["ReadingCelsius"] = json.Number(fmt.Sprint(celsius))
	})
}

// reads changes the first entry of a list that the BMC shows.
func (r *Rack) reads(machine, uri, list string, change func(map[string]any)) error {
	m, err := r.find(machine)
	if err != nil {
		return err
	}
	found := false
	err = m.bmc.Update(uri, func(body map[string]any) {
		if entries, ok := body[list].([]any); ok && len(entries) > 0 {
			if first, ok := entries[0].(map[string]any); ok {
				change(first)
				found = true
			}
		}
	})
	if err == nil && !found {
		err = fmt.Errorf("simulated BMC of %s shows no %s", machine, list)
	}
	return err
}
