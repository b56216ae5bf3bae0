package provision

import (
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

// Disks are written where the spec asks for it, the batch names them, and the host is
// proven to be the machine; the plan tells which.
func TestConsentOfTheBatch(t *testing.T) {
	writes := &profiles.Spec{Loads: profiles.SpecLoads{NVMe: profiles.NVMeWrite}}
	leaves := &profiles.Profile{GPU: profiles.GPU{MIGLayout: &profiles.Limit{Relation: profiles.Equal, Text: []string{"7x 1g.10gb"}}, MIGLeave: profiles.MIGRemoved}}
	for _, c := range []struct {
		profile *profiles.Profile
		proof   string
		agreed  bool
		want    bool
	}{{leaves, "the token came back", true, true}, {leaves, "", true, true}, {leaves, "the token came back", false, false}, {&profiles.Profile{}, "the token came back", true, false}} {
		e := &Env{Machine: Machine{BMC: "10.0.0.1", MIGTest: c.agreed}, Batch: &Batch{}, Profile: c.profile, Spec: &profiles.Spec{}, Facts: Facts{FactProof: c.proof}}
		_, err := e.permit(t.Context(), burnIn{}, nil)
		if c.proof != "" {
			err = nil // permit_test.go looks at it
		}
		got := consent(e, err)
		changes, err := burnIn{}.Plan(t.Context(), e)
		told := slices.ContainsFunc(changes, func(ch Change) bool {
			return ch.What == "MIG" && ch.Want == "on, 7x 1g.10gb on every GPU, then off again"
		})
		if got.MIG != c.want || told != c.want || (got.Refused != "") != (c.want && c.proof == "") || err != nil {
			t.Errorf("consent %+v, told %v (%v), want %+v", got, told, err, c)
		}
	}
	for _, c := range []struct {
		name    string
		spec    *profiles.Spec
		disks   []string
		proof   string
		want    []string
		refused string
	}{
		{"proven", writes, []string{"S1", "S2"}, "the token came back", []string{"S1", "S2"}, ""},
		{"not proven", writes, []string{"S1"}, "", []string{"S1"}, "nothing proves that the host which answers is the machine behind BMC 10.0.0.1"},
		{"not asked for", &profiles.Spec{}, []string{"S1"}, "the token came back", nil, ""},
		{"none named", writes, nil, "the token came back", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &Env{Machine: Machine{BMC: "10.0.0.1", WriteDisks: c.disks}, Batch: &Batch{}, Profile: &profiles.Profile{}, Spec: c.spec, Facts: Facts{FactProof: c.proof}}
			_, err := e.permit(t.Context(), burnIn{}, nil)
			if c.proof != "" {
				err = nil // permit_test.go looks at it
			}
			got := consent(e, err)
			if !slices.Equal(got.Disks, c.want) || !strings.HasPrefix(got.Refused, c.refused) || (c.refused == "") != (got.Refused == "") {
				t.Errorf("consent %+v, want %q refused for %q", got, c.want, c.refused)
			}
			changes, err := burnIn{}.Plan(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			var told []string
			for _, ch := range changes {
				if ch.What == PlanDisk {
					told = append(told, ch.Now)
				}
			}
			if !slices.Equal(told, c.want) || (len(told) == 0) != strings.Contains(changes[0].Want, "writes to no disk") {
				t.Errorf("the plan tells %+v", changes)
			}
		})
	}
}
