package provision

import (
	"context"
	"testing"

	"github.com/rackproof/rackproof/redfish"
)

// strictBMC judges a setting by the values in force: TURBO can be set once PROFILE
// is Custom, and is dropped from what is staged before.
type strictBMC struct{ *fakeBMC }

func (s strictBMC) PlanBIOS(ctx context.Context, want map[string]any) ([]redfish.BIOSChange, error) {
	changes, err := s.VerifyBIOS(ctx, want)
	for i := range changes {
		changes[i].Round = 1
		if changes[i].Attribute == "TURBO" && s.attrs["PROFILE"] != "Custom" {
			changes[i].Round = 2
		}
	}
	return changes, err
}

func (s strictBMC) StageBIOS(ctx context.Context, changes []redfish.BIOSChange) (string, error) {
	var free []redfish.BIOSChange
	for _, ch := range changes {
		if ch.Round == 1 {
			free = append(free, ch)
		}
	}
	return s.fakeBMC.StageBIOS(ctx, free)
}

// TestBIOSRoundsReset: what depends on a setting of the same set gets a round and a
// reset of its own, each once.
func TestBIOSRoundsReset(t *testing.T) {
	f := newFakeBMC()
	f.attrs["PROFILE"], f.attrs["TURBO"] = "Max", "Enabled"
	e, _ := stepEnv(t, f, Machine{Name: "m"})
	want := map[string]any{"PROFILE": "Custom", "TURBO": "Disabled"}
	if err := e.applyBIOS(t.Context(), strictBMC{f}, want, "bios", false); err != nil {
		t.Fatal(err)
	}
	if f.attrs["PROFILE"] != "Custom" || f.attrs["TURBO"] != "Disabled" || f.resets != 2 {
		t.Errorf("%v after %d resets, want both after 2", f.attrs, f.resets)
	}
	for _, act := range []string{"bios settings", "bios reset", "bios round 2 settings", "bios round 2 reset"} {
		if !e.intents[act].Acted {
			t.Errorf("act %q is not recorded: %v", act, e.intents)
		}
	}
}
