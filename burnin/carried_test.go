package burnin

import (
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// clockSpec asks for four hours; a supply costs none of them, a drive its own, all else all.
func clockSpec(mode profiles.SoakMode) *profiles.Spec {
	return &profiles.Spec{
		Name: "four", Soak: profiles.Soak{Hours: 4, Mode: mode, Restarts: 1, Pauses: 1},
		ClockAfterRepair: map[string]profiles.Clock{"psu": profiles.ClockContinue, "nvme": profiles.ClockPart, "default": profiles.ClockRestart},
	}
}

// loadedRecord is an attempt whose load came to its end after so many hours.
func loadedRecord(attempt int, hours float64, carried *Carried) *Record {
	zero := 0
	return &Record{
		Meta: Meta{Attempt: attempt, Coverage: CoverFull, Carried: carried}, Manifest: []byte("sums\n"),
		Evidence: []*Evidence{{Probe: "stress-ng", Phase: PhaseLoad, Ended: EndedExit, Exit: &zero, Seconds: hours * time.Hour.Seconds(), Out: []byte("stress-ng: info: successful run completed\n")}},
	}
}

func TestHoursAfterRepair(t *testing.T) {
	for _, c := range []struct {
		name     string
		mode     profiles.SoakMode
		repaired []Class
		new      []string // serials that turn out to be new
		now      float64  // hours of the second attempt, after three of the first
		want     string
		says     string
	}{
		{"a supply", profiles.Accumulated, []Class{ClassPSU}, nil, 1, "pass", "3.00 h of attempt 1 count after a repair of psu"},
		{"a supply, where nothing may interrupt", profiles.Uninterrupted, []Class{ClassPSU}, nil, 1, "pass", "3.00 h of attempt 1 count"},
		{"a supply, and too short", profiles.Accumulated, []Class{ClassPSU}, nil, 0.5, "not_run", "under load for 3.50 h of the 4 h"},
		{"a drive", profiles.Accumulated, []Class{ClassNVMe}, nil, 1, "not_run", "3.00 h of attempt 1 count for the parts that stayed, and not for what came new"},
		{"a drive, all hours", profiles.Accumulated, []Class{ClassNVMe}, nil, 4, "pass", "count for the parts that stayed"},
		{"a module", profiles.Accumulated, []Class{ClassSXM}, nil, 1, "not_run", "3.00 h of attempt 1 do not count after a repair of sxm-gpu"},
		{"a supply and a module", profiles.Accumulated, []Class{ClassPSU, ClassSXM}, nil, 1, "not_run", "do not count after a repair of psu and sxm-gpu"},
		{"a part that is not known", profiles.Accumulated, []Class{""}, nil, 1, "not_run", "do not count after a repair of a part that is not known"},
		{"a supply, and a drive of which nobody spoke", profiles.Accumulated, []Class{ClassPSU}, []string{"D2"}, 1, "not_run", "repair of nvme and psu"},
		{"a supply, and something that nothing names", profiles.Accumulated, []Class{ClassPSU}, []string{"?"}, 1, "not_run", "do not count"},
		{"nobody touched it", profiles.Accumulated, nil, nil, 1, "pass", "3.00 h of attempt 1 count"},
		{"nobody touched it, and nothing may interrupt", profiles.Uninterrupted, nil, nil, 1, "not_run", "3.00 h of attempt 1 do not count"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := clockSpec(c.mode)
			carried := CarryOn(loadedRecord(1, 3, nil), s, c.repaired)
			rec := loadedRecord(2, c.now, carried)
			rec.Machine.Replacements = c.new
			found := judgeSoak(rec, s, []Finding{About("nvme.health", "spare", Part{Class: ClassNVMe, Name: "NVMe bay 2", Serial: "D2"})})
			if len(found) != 1 || answerWord(found[0]) != c.want || !strings.Contains(found[0].Why+found[0].NotRun, c.says) {
				t.Errorf("%s: %s%s; want %s: %s", answerWord(found[0]), found[0].Why, found[0].NotRun, c.want, c.says)
			}
			if carried.Manifest != sum([]byte("sums\n")) {
				t.Errorf("manifest %s", carried.Manifest)
			}
		})
	}
}

// Hours go on over more than one repair, and what did not count once never does.
func TestHoursOverTwoRepairs(t *testing.T) {
	s := clockSpec(profiles.Accumulated)
	first := CarryOn(loadedRecord(1, 2, nil), s, []Class{ClassPSU})
	if got := CarryOn(loadedRecord(2, 1, first), s, []Class{ClassPSU}); got.Seconds != 3*3600 || got.Attempt != 2 {
		t.Errorf("two supplies: %+v", got)
	}
	lost := CarryOn(loadedRecord(1, 2, nil), s, []Class{ClassSXM})
	if got := CarryOn(loadedRecord(2, 1, lost), s, []Class{ClassPSU}); got.Seconds != 3600 {
		t.Errorf("a module, then a supply: %+v", got)
	}
	b := &burn{BurnOptions: BurnOptions{Duration: 4 * time.Hour, Soak: s.Soak, Carried: first}}
	if got := b.left(); got != 2*time.Hour {
		t.Errorf("%s are left of 4 h behind 2 h", got)
	}
	b.Carried = lost
	if got := b.left(); got != 4*time.Hour {
		t.Errorf("%s are left behind hours that do not count", got)
	}
	if CarryOn(loadedRecord(1, 2, nil), &profiles.Spec{}, nil) != nil {
		t.Error("a spec without hours has none to carry")
	}
}
