package provision

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWorkflowsHaveNoFlaws(t *testing.T) {
	var names []string
	for _, w := range Workflows() {
		names = append(names, w.Name)
		for _, f := range w.flaws() {
			t.Errorf("%s: step %d: %s", w.Name, f.at, f.text)
		}
		if w.About == "" || w.Plan().Version != 1 {
			t.Errorf("%s: about %q, version %d", w.Name, w.About, w.Plan().Version)
		}
	}
	if want := []string{"qualify", "provision", "burnin", "retest", "wipe", "handover"}; !slices.Equal(names, want) {
		t.Errorf("workflows %v, want %v", names, want)
	}
	for _, s := range Steps() {
		if s.About == "" || s.Timeout <= 0 || s.Tries < 1 {
			t.Errorf("step %s: %+v", s.Step.Name(), s)
		}
		if name := s.Step.Name(); !s.Always && name != "preflight" && name != "verify-bmc" && !slices.Contains(s.Needs, "verify-bmc") {
			t.Errorf("step %s may stand without verify-bmc", name)
		}
	}
}

// What changes BIOS or firmware is in no workflow that promises not to.
func TestWhatWorkflowsLeaveAlone(t *testing.T) {
	for _, test := range []struct {
		workflow string
		without  []string
	}{
		{"provision", []string{"burn-in", "bios", "reboot-cycle"}},
		{"burnin", []string{"bmc-network", "firmware", "bios", "restore-bios", "handover"}},
		{"handover", []string{"firmware", "bios", "boot", "burn-in"}},
	} {
		w, err := (&Batch{Workflow: test.workflow}).Flow()
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range test.without {
			if _, ok := w.Find(step); ok {
				t.Errorf("%s has step %s", test.workflow, step)
			}
		}
	}
	if _, err := (&Batch{Workflow: "qualfy"}).Flow(); err == nil || !strings.Contains(err.Error(), `"qualfy"`) {
		t.Errorf("an unknown workflow: %v", err)
	}
}

const ownFlow = `
name: a
profile: a40-4
workflow:
  name: night
  steps:
    - preflight
    - verify-bmc
    - step: boot
      tries: 3
      backoff: 30 s
    - wait-ssh
    - {step: burn-in, timeout: 2 h, when: {model: "*8125*"}}
    - step: leave-image
      when: {fact: boot_method, is_not: none}
    - report
machines: [{name: m, bmc: 10.0.0.1}]
`

func TestOwnWorkflow(t *testing.T) {
	// leave-image must follow every boot, so this one is refused as it stands.
	if _, err := parse(t, ownFlow); err == nil || !strings.Contains(err.Error(), "batch.yaml:9:7: workflow night: boot may start an image of ours") {
		t.Fatalf("error %v", err)
	}
	text := strings.Replace(ownFlow, "      when: {fact: boot_method, is_not: none}\n", "", 1)
	b, err := parse(t, text)
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.Flow()
	if err != nil {
		t.Fatal(err)
	}
	if b.Workflow != "night" || w.text() != "preflight, verify-bmc, boot, wait-ssh, burn-in, leave-image, report" {
		t.Errorf("workflow %s: %s", b.Workflow, w.text())
	}
	boot, _ := w.Find("boot")
	burn, _ := w.Find("burn-in")
	rep, _ := w.Find("report")
	if boot.Tries != 3 || boot.Backoff != 30*time.Second || boot.Timeout != 30*time.Minute {
		t.Errorf("boot %+v", boot)
	}
	if burn.Timeout != 2*time.Hour || burn.Tries != 3 || !burn.Loads || burn.When == nil || burn.When.Model != "*8125*" {
		t.Errorf("burn-in %+v", burn)
	}
	if !rep.Always {
		t.Error("the report does not always run")
	}

	// The plan travels as JSON and comes back the same.
	sent, err := json.Marshal(w.Plan())
	if err != nil {
		t.Fatal(err)
	}
	var p Plan
	if err := json.Unmarshal(sent, &p); err != nil {
		t.Fatal(err)
	}
	again, err := p.workflow()
	if err != nil || !same(again.Plan(), w.Plan()) || p.Version != 2 {
		t.Errorf("plan %s came back otherwise: %v, version %d", sent, err, p.Version)
	}
	p.Steps[1].Name = "polish"
	if _, err := p.workflow(); err == nil || !strings.Contains(err.Error(), "no step polish") {
		t.Errorf("a plan with a step that is not there: %v", err)
	}
}

func TestOwnWorkflowMistakes(t *testing.T) {
	steps := func(list string) string {
		return "name: a\nprofile: a40-4\nmachines: [{name: m, bmc: 10.0.0.1}]\nworkflow:\n  steps:\n" + list
	}
	const all = "    - preflight\n    - verify-bmc\n    - boot\n    - wait-ssh\n    - burn-in\n    - handover\n    - report\n"
	if _, err := parse(t, steps(all)); err != nil {
		t.Fatalf("a good one: %v", err)
	}
	for _, test := range []struct{ name, text, want string }{
		{"unknown step", steps(strings.Replace(all, "burn-in", "burnin", 1)), `batch.yaml:10:7: unknown step "burnin", there is [`},
		{"its nearest", steps(strings.Replace(all, "burn-in", "burnin", 1)), `did you mean "burn-in"?`},
		{"a step of later", steps(strings.Replace(all, "burn-in", "polish", 1)), `batch.yaml:10:7: unknown step "polish"`},
		{"before what it needs", steps("    - preflight\n    - verify-bmc\n    - boot\n    - burn-in\n    - wait-ssh\n    - handover\n    - report\n"), "batch.yaml:9:7: workflow own: burn-in stands before wait-ssh, which it needs"},
		{"without what it needs", steps(strings.Replace(all, "    - wait-ssh\n", "", 1)), "batch.yaml:9:7: workflow own: burn-in needs wait-ssh before it, which is not there"},
		{"without verify-bmc", steps("    - bios\n    - handover\n    - report\n"), "batch.yaml:6:7: workflow own: bios needs verify-bmc before it"},
		{"verify-bmc behind", steps("    - bios\n    - verify-bmc\n    - handover\n    - report\n"), "batch.yaml:6:7: workflow own: bios stands before verify-bmc, which it needs"},
		{"verify-bmc on a condition", steps(strings.Replace(all, "- verify-bmc", "- {step: verify-bmc, when: {rack: R1}}", 1)), "batch.yaml:7:7: workflow own: verify-bmc takes no condition"},
		{"report on a condition", steps(strings.Replace(all, "- report", "- {step: report, when: {rack: R1}}", 1)), "batch.yaml:12:7: workflow own: report takes no condition"},
		{"no report", steps(strings.Replace(all, "    - report\n", "", 1)), "batch.yaml:6:5: workflow own: no report at the end"},
		{"report amid", steps("    - preflight\n    - verify-bmc\n    - report\n    - restore-bios\n"), "batch.yaml:9:7: workflow own: restore-bios stands behind report, and belongs before it"},
		{"twice", steps(strings.Replace(all, "    - burn-in\n", "    - burn-in\n    - burn-in\n", 1)), "batch.yaml:11:7: workflow own: step burn-in stands twice"},
		{"tries", steps(strings.Replace(all, "- burn-in", "- {step: burn-in, tries: 0}", 1)), `batch.yaml:10:30: want a whole number of at least 1, not "0"`},
		{"timeout", steps(strings.Replace(all, "- burn-in", "- {step: burn-in, timeout: soon}", 1)), "batch.yaml:10:32:"},
		{"key", steps(strings.Replace(all, "- burn-in", "- {step: burn-in, trys: 2}", 1)), `batch.yaml:10:23: unknown key "trys" in a step, did you mean "tries"?`},
		{"no name", steps(strings.Replace(all, "- burn-in", "- {tries: 2}", 1)), "batch.yaml:10:7: a step needs its name"},
		{"BIOS left", steps("    - preflight\n    - verify-bmc\n    - bios\n    - report\n"), "batch.yaml:8:7: workflow own: bios sets the BIOS for the test, and no step behind it puts it back"},
		{"image left", steps(strings.Replace(all, "    - handover\n", "", 1)), "batch.yaml:8:7: workflow own: boot may start an image of ours, and no step behind it takes it down"},
		{"what it needs on a condition", steps(strings.Replace(all, "- boot", "- {step: boot, when: {rack: R1}}", 1)), "batch.yaml:9:7: workflow own: wait-ssh needs boot, which its condition may leave out: give wait-ssh the same when"},
		{"a fact of later", steps(strings.Replace(all, "- boot", "- {step: boot, when: {fact: proof, is_not: x}}", 1)), "the condition of boot asks for proof, which step wait-ssh tells: it must stand before"},
		{"unknown fact", steps(strings.Replace(all, "- boot", "- {step: boot, when: {fact: boot_metod, is: pxe}}", 1)), `batch.yaml:8:33: unknown fact "boot_metod"`},
		{"fact alone", steps(strings.Replace(all, "- boot", "- {step: boot, when: {fact: model}}", 1)), "batch.yaml:8:26: when: fact goes with is or is_not"},
		{"is alone", steps(strings.Replace(all, "- boot", "- {step: boot, when: {is: x}}", 1)), "when: fact goes with is or is_not"},
		{"nothing", steps(strings.Replace(all, "- boot", "- {step: boot, when: {}}", 1)), "batch.yaml:8:26: when says nothing"},
		{"pattern", steps(strings.Replace(all, "- boot", "- {step: boot, when: {model: \"[\"}}", 1)), `model "[" is no pattern`},
		{"no steps", "name: a\nprofile: a40-4\nworkflow: {name: x}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "batch.yaml:3:11: a workflow of your own needs steps:"},
		{"empty steps", "name: a\nprofile: a40-4\nworkflow: {steps: []}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "batch.yaml:3:19: steps: write a list"},
		{"name of ours", steps(all) + "  name: qualify\n", `batch.yaml:13:9: workflow name "qualify" is that of a workflow of rackproof`},
		{"name", steps(all) + "  name: a b\n", `batch.yaml:13:9: workflow name "a b"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := parse(t, test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error\n%v\nwant %s", err, test.want)
			}
		})
	}
}

func TestWhen(t *testing.T) {
	m := Machine{Name: "r12u07", Rack: "R12", Profile: "hgx-h100-8", Spec: "standard"}
	facts := Facts{FactModel: "Supermicro AS -8125GS-TNHR", FactBoot: "pxe"}
	for _, test := range []struct {
		when *When
		want string // "" = it holds
		open bool   // before anything was told
	}{
		{nil, "", false},
		{&When{Model: "*8125*"}, "", true},
		{&When{Model: "*8125gs-tnhr"}, "", true},
		{&When{Model: "8125"}, `model is "Supermicro AS -8125GS-TNHR", not "8125"`, true},
		{&When{Rack: "R12", Name: "r12u*"}, "", false},
		{&When{Rack: "R12", Name: "r13*"}, `name is "r12u07", not "r13*"`, false},
		{&When{Profile: "hgx-*", Spec: "strict"}, `spec is "standard", not "strict"`, false},
		{&When{Fact: FactBoot, Is: "pxe"}, "", true},
		{&When{Fact: FactBoot, Is: "disk"}, `boot_method is "pxe", not "disk"`, true},
		{&When{Fact: FactBoot, IsNot: "disk"}, "", true},
		{&When{Fact: FactBoot, IsNot: "px?"}, `boot_method is "pxe"`, true},
		{&When{Fact: FactProof, Is: "*"}, "", true}, // nobody told: nothing, which * takes
		{&When{Fact: FactProof, Is: "?*"}, `proof is "", not "?*"`, true},
		{&When{Fact: FactProof, IsNot: "x"}, "", true},
	} {
		if got := test.when.unmet(m, facts); got != test.want {
			t.Errorf("%+v: %q, want %q", test.when, got, test.want)
		}
		if test.when.open(Facts{}) != test.open || test.when.open(Facts{FactModel: "", FactBoot: "", FactProof: ""}) {
			t.Errorf("%+v: open %v, want %v", test.when, test.when.open(Facts{}), test.open)
		}
	}
}

// A step whose condition does not hold is passed over where events are folded, and for
// good: what is told later brings it back no more.
func TestStepIsLeftOut(t *testing.T) {
	p := Plan{Name: "own", Version: 2, Steps: []PlanStep{
		{Name: "preflight", When: &When{Rack: "R2"}},
		{Name: "verify-bmc"},
		{Name: "firmware", When: &When{Model: "*8125*"}},
		{Name: "boot"},
		{Name: "report", Always: true},
	}}
	b := &Batch{Name: "job", Machines: []Machine{{Name: "a", Rack: "R1"}, {Name: "b", Rack: "R2"}}}
	var events []Event
	tell := func(machine, step string, kind Kind, data any) {
		t.Helper()
		e, err := NewEvent("job", machine, kind, data)
		if err != nil {
			t.Fatal(err)
		}
		e.Seq, e.Step, e.At = Seq(len(events)+1), step, time.Unix(int64(len(events)), 0)
		if machine != "" {
			e.Attempt = 1
		}
		events = append(events, e)
	}
	at := func(machine, want string) {
		t.Helper()
		run, err := Fold(events)
		if err != nil {
			t.Fatal(err)
		}
		if got := run.Find(machine).Step; got != want {
			t.Errorf("%s is at %q, want %q", machine, got, want)
		}
	}
	tell("", "", Submitted, Submission{Batch: b, Plan: p})
	at("a", "verify-bmc")
	at("b", "preflight")
	tell("a", "verify-bmc", StepEnded, StepDone{Facts: Facts{FactModel: "Dell XE9680"}})
	at("a", "boot")
	tell("a", "boot", StepEnded, StepDone{Facts: Facts{FactModel: "AS -8125GS"}})
	at("a", "report")
	tell("a", "report", StepEnded, StepDone{})
	at("a", "")
	run, _ := Fold(events)
	a := run.Find("a")
	if want := `preflight: rack is "R1", not "R2"; firmware: model is "Dell XE9680", not "*8125*"`; a.Facts[FactLeftOut] != want {
		t.Errorf("left out %q, want %q", a.Facts[FactLeftOut], want)
	}
	if len(a.Steps) != 5 || a.Steps[0].LeftOut == "" || a.Steps[1].LeftOut != "" {
		t.Errorf("steps %+v", a.Steps)
	}
	// A retest asks anew.
	tell("a", "", MachineOver, nil)
	tell("a", "", Retested, Repaired{})
	at("a", "verify-bmc")
}

// The plan of a run that lost the step a machine stands at goes on with the next.
func TestStepTakenOutOfTheWorkflow(t *testing.T) {
	b := &Batch{Name: "job", Machines: []Machine{{Name: "a"}}}
	sub := func(kind Kind, steps ...string) Event {
		p := Plan{Name: "own", Version: 1}
		for _, s := range steps {
			p.Steps = append(p.Steps, PlanStep{Name: s})
		}
		e, err := NewEvent("job", "", kind, Submission{Batch: b, Plan: p})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	run, err := Fold([]Event{sub(Submitted, "locate", "boot"), sub(Edited, "boot", "report")})
	if err != nil || run.Machines[0].Step != "boot" {
		t.Errorf("at %q, %v", run.Machines[0].Step, err)
	}
}

func TestPause(t *testing.T) {
	for _, test := range []struct {
		own  time.Duration
		try  int
		want time.Duration
	}{
		{0, 1, 2 * time.Second}, {0, 3, 8 * time.Second}, {time.Minute, 1, time.Minute}, {time.Minute, 2, 2 * time.Minute}, {0, 99, 128 * time.Second},
	} {
		if got := (PlanStep{Backoff: test.own}).Pause(test.try, 2*time.Second); got != test.want {
			t.Errorf("%v after try %d: %v, want %v", test.own, test.try, got, test.want)
		}
	}
}

// A workflow that is taken acts on no machine that nobody proved, and judges.
func FuzzWorkflow(f *testing.F) {
	f.Add("  steps: [preflight, verify-bmc, boot, wait-ssh, burn-in, handover, report]\n")
	f.Add("  name: x\n  steps:\n    - {step: verify-bmc, tries: 2}\n    - {step: bios, when: {model: \"*\"}}\n    - restore-bios\n    - report\n")
	f.Add("  steps: [burn-in, {step: report, when: {fact: proof, is: x}}, report]\n")
	f.Add("  steps: {a: b}\n  name: [1]\n")
	f.Fuzz(func(t *testing.T, text string) {
		l := &loader{reader: reader{file: "f.yaml"}, batch: &Batch{}}
		root := l.parse([]byte("workflow:\n" + text))
		if root == nil {
			return
		}
		l.fields(root, "the batch", field{"workflow": l.workflow})
		if len(l.problems) > 0 || l.batch.Own == nil {
			return
		}
		w, err := l.batch.Flow()
		if err != nil || len(w.flaws()) > 0 {
			t.Fatalf("taken with flaws: %v, %v", err, w.flaws())
		}
		proved := false
		for _, s := range l.batch.Own.Steps {
			proved = proved || s.Name == "verify-bmc" && s.When == nil
			if (s.Loads || s.Canary || s.Name == "boot") && !proved {
				t.Errorf("step %s is reached without verify-bmc: %+v", s.Name, l.batch.Own)
			}
			if s.Tries < 1 || s.Timeout <= 0 {
				t.Errorf("step %+v", s)
			}
		}
		if last := l.batch.Own.Steps[len(l.batch.Own.Steps)-1]; last.Name != "report" || last.When != nil {
			t.Errorf("the last step is %+v", last)
		}
	})
}
