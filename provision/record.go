package provision

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/redfish"
)

// begin writes what the record of an attempt starts with: the exact profile and
// spec, and what is known of the machine.
func (e *Env) begin() error {
	if err := e.Store.SetProfile(e.Profile.Bytes(), e.Spec.Bytes()); err != nil {
		return err
	}
	if _, ok, err := e.Store.Meta(); err != nil || ok {
		return err
	}
	err := e.Store.SetMeta(burnin.Meta{
		Run: string(e.Run), Machine: e.Machine.Name, Attempt: e.Attempt, Coverage: burnin.CoverFull,
		Started: time.Now(), Rackproof: e.Version, Simulated: e.Machine.Boot.Image == SimulatedImage,
	})
	if err != nil {
		return err
	}
	return e.keepMachine()
}

// keepMachine writes machine.json.
func (e *Env) keepMachine() error {
	rec, err := e.record()
	if err != nil {
		return err
	}
	return e.Store.SetMachine(rec)
}

// record is machine.json from what is known now.
func (e *Env) record() (burnin.Machine, error) {
	m := e.Machine
	var bios []burnin.BIOSLine
	if text := e.Facts[FactBIOSLines]; text != "" {
		if err := json.Unmarshal([]byte(text), &bios); err != nil {
			return burnin.Machine{}, fmt.Errorf("fact %s: %w", FactBIOSLines, err)
		}
	}
	if len(bios) == 0 {
		bios = e.biosNotSet()
	}
	rec := burnin.Machine{
		Name: m.Name, Rack: m.Rack, U: m.U,
		Customer: e.Batch.Customer, Order: e.Batch.Order, Stage: e.Batch.Stage,
		Wanted: burnin.WantedIdentity{Serial: m.Serial, UUID: m.UUID, MAC: m.MAC},
		Cables: m.Cables, BIOS: bios, Image: m.Boot.Image, BootID: e.Facts[FactBootID], Proof: e.Facts[FactProof],
		Wipe: e.wiping(), Insecure: e.Facts[FactInsecure] == "true", HandedOver: e.Facts[FactHandover], Facts: publicFacts(e.secrets.facts(e.Facts)),
	}
	for _, s := range e.Steps {
		if s.LeftOut != "" { // the fact left_out tells of it
			continue
		}
		rec.Steps = append(rec.Steps, burnin.StepTime{Step: s.Step, Started: s.Started, Seconds: s.Seconds, Tries: s.Tries})
	}
	for _, r := range e.Repairs {
		rec.Repaired = append(rec.Repaired, r.Repair())
	}
	return rec, nil
}

// wiping is what is to be erased, where the workflow erases.
func (e *Env) wiping() *burnin.Wiping {
	if e.Machine.Wipe == nil {
		return nil
	}
	w := *e.Machine.Wipe
	w.Operator = Operator()
	return &w
}

// biosNotSet are the settings that the profile wants for the test and that this run does
// not set, because its workflow has no such step or a condition left it out: nothing
// proves them, and the record must not look as if nothing was wanted.
func (e *Env) biosNotSet() []burnin.BIOSLine {
	w, err := e.Batch.Flow()
	if err != nil { // not one of ours
		return nil
	}
	name := biosSettings{}.Name()
	left := slices.ContainsFunc(e.Steps, func(d StepDone) bool { return d.Step == name && d.LeftOut != "" })
	if _, sets := w.Find(name); sets && !left {
		return nil
	}
	var out []burnin.BIOSLine
	set := e.Profile.BIOS[setBurnIn]
	for _, k := range slices.Sorted(maps.Keys(set.Intents)) {
		out = append(out, burnin.BIOSLine{Attribute: k, Wanted: set.Intents[k]})
	}
	for _, k := range slices.Sorted(maps.Keys(set.Attributes)) {
		out = append(out, burnin.BIOSLine{Attribute: k, Wanted: set.Attributes[k]})
	}
	return out
}

// publicFacts leaves out what only steps use among themselves.
func publicFacts(f Facts) map[string]string {
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(f)) {
		switch k {
		case FactBIOSFound, FactBIOSLines, factReboot, FactResult, FactLine, FactLadder, FactHostKey, factProofFor:
		default:
			out[k] = f[k]
		}
	}
	return out
}

// biosLines joins what was found, wanted and is now in force.
func biosLines(found, want map[string]any, now redfish.BIOS) []burnin.BIOSLine {
	var out []burnin.BIOSLine
	for _, k := range slices.Sorted(maps.Keys(want)) {
		line := burnin.BIOSLine{Attribute: k, Found: now.Attributes[k], Wanted: want[k], Now: now.Attributes[k]}
		if v, changed := found[k]; changed {
			line.Found = v
		}
		out = append(out, line)
	}
	return out
}

// biosFound are the attributes as they were before we changed them; nothing there is
// no attribute.
func biosFound(f Facts) (map[string]any, error) {
	if f[FactBIOSFound] == "" {
		return nil, nil
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(f[FactBIOSFound]), &out); err != nil {
		return nil, fmt.Errorf("fact %s: %w", FactBIOSFound, err)
	}
	return out, nil
}

func asJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
