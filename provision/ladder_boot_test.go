package provision

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// A machine that does not boot over HTTP is tried again, its BMC is reset once, it is tried
// once more, and then it boots from the virtual drive; one that does not do that either is STUCK. Where the batch
// names the way, it is kept.
func TestLadderOfBoots(t *testing.T) {
	for _, test := range []struct {
		name   string
		method BootMethod
		boots  bool // from the virtual drive
		fails  int
		stuck  string
	}{
		{"the drive works", BootAuto, true, 3, ""},
		{"nothing works", BootAuto, false, 4, "Tried before: the step 3 times; a cold reset of the BMC in step boot"},
		{"the batch names HTTP", BootUEFIHTTP, true, 3, "Tried before: the step 2 times; a cold reset of the BMC in step boot"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := &mediaBMC{fakeBMC: newFakeBMC(), boots: test.boots}
			e := mediaEnv(t, f)
			f.boot.Allowed = []string{"Hdd", "Cd", "UefiHttp"}
			e.Machine.Boot.Method, e.Machine.Serial = test.method, "S1"
			e.Batch.Machines[0] = e.Machine
			resets := 0
			e.open.reset = func(context.Context, Machine) (bool, string, error) {
				resets++
				return true, "", nil
			}
			info := StepInfo{Step: boot{}, Timeout: 3 * time.Second, Tries: 2}
			task := Task{Run: "job", Attempt: 1, Machine: e.Machine, Batch: e.Batch, Step: Workflow{Steps: []StepInfo{info}}.Plan().Steps[0]}
			e.Facts[FactPrint], e.Facts[FactUUID] = "aa", f.id.UUID
			var err error
			again, fails := true, 0
			for task.Try = 1; again && task.Try < 10; task.Try++ {
				task.Facts = e.Facts.Clone()
				err = e.climb(t.Context(), task, info, doneDoDone(t.Context(), info, task, e, nil))
				if err != nil {
					fails++
					t.Log(err)
				}
				_, again = Endings(err, task.Step, task.Try, nil, time.Now())
				e.intents = map[string]Intent{}
				e.dropClient()
			}
			if fails != test.fails || resets != 1 {
				t.Errorf("%d tries failed, want %d; %d resets of the BMC", fails, test.fails, resets)
			}
			stuck, isStuck := errors.AsType[*Stuck](err)
			if isStuck != (test.stuck != "") || isStuck && !strings.Contains(stuck.Why, test.stuck) {
				t.Fatalf("%v, want %q", err, test.stuck)
			}
			if !isStuck && (e.Facts[FactBoot] != string(BootMedia) || f.acts["insert"] != 1) {
				t.Errorf("booted by %s, acts %v", e.Facts[FactBoot], f.acts)
			}
		})
	}
}
