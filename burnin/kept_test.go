package burnin

import (
	"slices"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// attempts is a machine judged twice: before whole, now without its copies measured.
func attempts() (before, now *Judgement) {
	gpu := Part{Class: ClassSXM, Name: "GPU SXM3", Serial: "G3"}
	drive := Part{Class: ClassNVMe, Name: "NVMe bay 1", Serial: "D1"}
	judged := func(check, quantity string, p Part, v Verdict, measured any) Finding {
		f := About(check, quantity, p, "load/x").Judged(v, "seen")
		f.Scope, f.Measured = profiles.Required, measured
		return f
	}
	base := Judgement{Profile: Named{"p", "P"}, Spec: Named{"s", "S"}, Coverage: CoverFull}
	b, n := base, base
	b.Machine.Attempt, n.Machine.Attempt = 1, 2
	b.Findings = []Finding{
		judged("gpu.driver", "version", Part{Class: ClassDriver, Name: "driver"}, Pass, "570.1"),
		judged("gpu.count", "gpus", gpu, Pass, 1), judged("gpu.copy", "h2d", gpu, Pass, 55), judged("pcie.link", "speed", gpu, Pass, 32),
		judged("nvme.health", "spare", drive, Fail, 2),
	}
	n.Findings = []Finding{
		judged("gpu.driver", "version", Part{Class: ClassDriver, Name: "driver"}, Pass, "570.1"),
		judged("gpu.count", "gpus", gpu, Pass, 1), judged("nvme.health", "spare", drive, Pass, 100),
	}
	n.NotRun = []NotRun{
		{Check: "gpu.copy", Quantity: "all", Part: "GPUs", Scope: profiles.Required},
		{Check: "pcie.link", Quantity: "speed", Part: "GPU SXM3", Scope: profiles.Required},
		{Check: "pcie.link", Quantity: "width", Part: "GPU SXM3", Scope: profiles.Required},
	}
	return &b, &n
}

func TestKeep(t *testing.T) {
	for _, test := range []struct {
		name    string
		touched []Class
		change  func(before, now *Judgement)
		kept    bool
	}{
		{"a drive was exchanged", []Class{ClassNVMe}, nil, true},
		{"a GPU was", []Class{ClassSXM}, nil, false},
		{"host memory was, of which copies tell", []Class{ClassDIMM}, nil, false},
		{"a part that nobody can name", []Class{ClassNVMe, ""}, nil, false},
		{"the board", []Class{ClassMachine}, nil, false},
		{"nothing: it is tested again whole", nil, nil, false},
		{"another GPU is in its place", []Class{ClassNVMe}, func(_, now *Judgement) { now.Findings[1].Serial = "G9" }, false},
		{"its serial is not known now", []Class{ClassNVMe}, func(_, now *Judgement) { now.Findings[1].Serial = "" }, false},
		{"a GPU without a serial number", []Class{ClassNVMe}, func(before, now *Judgement) {
			for _, j := range []*Judgement{before, now} {
				f := j.Findings[1]
				f.Part, f.Serial, f.Address = "GPU SXM4", "", "0000:a8:00.0"
				j.Findings = append(j.Findings, f)
			}
		}, false},
		{"one more GPU", []Class{ClassNVMe}, func(_, now *Judgement) {
			f := now.Findings[1]
			f.Part, f.Serial = "GPU SXM4", "G4"
			now.Findings = append(now.Findings, f)
		}, false},
		{"another driver", []Class{ClassNVMe}, func(_, now *Judgement) { now.Findings[0].Measured = "580.2" }, false},
		{"the driver is not read", []Class{ClassNVMe}, func(_, now *Judgement) { now.Findings = now.Findings[1:] }, false},
		{"another spec", []Class{ClassNVMe}, func(_, now *Judgement) { now.Spec.SHA256 = "T" }, false},
		{"it was not proven then", []Class{ClassNVMe}, func(before, _ *Judgement) { before.Findings[2].Verdict = Unknown }, false},
		{"it was proven in part", []Class{ClassNVMe}, func(before, _ *Judgement) {
			before.NotRun = []NotRun{{Check: "gpu.copy", Quantity: "p2p"}}
		}, false},
		{"it was waived", []Class{ClassNVMe}, func(before, _ *Judgement) { before.Findings[2].Waived = "agreed" }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, now := attempts()
			if test.change != nil {
				test.change(before, now)
			}
			k := Keep(before, now, test.touched, Loads())
			if (k != nil) != test.kept {
				t.Fatalf("kept %+v", k)
			}
			if k != nil && (!slices.Equal(k.Loads, []string{"nvbandwidth"}) && !slices.Contains(k.Loads, "nvbandwidth") || slices.ContainsFunc(k.Findings, func(f Finding) bool { return f.Attempt != 1 || f.Check == "nvme.health" })) {
				t.Errorf("loads %v, findings %+v", k.Loads, k.Findings)
			}
		})
	}
}

// What is kept stands for what was not measured, and for nothing else.
func TestKeptIsJudged(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Kept, *Judgement, *Meta)
		open   int
		copies int // findings of gpu.copy
	}{
		{"as it was", nil, 1, 1}, // pcie.link width was never proven
		{"health could not be read this time", func(_ *Kept, j *Judgement, _ *Meta) {
			j.NotRun = append(j.NotRun, NotRun{Check: "gpu.count", Quantity: "gpus", Part: "GPU SXM3", Scope: profiles.Required})
		}, 2, 1},
		{"another GPU by the end", func(_ *Kept, j *Judgement, _ *Meta) { j.Findings[1].Serial = "G9" }, 3, 0},
		{"judged by another profile", func(_ *Kept, j *Judgement, _ *Meta) { j.Profile.SHA256 = "Q" }, 3, 0},
		{"the attempt has not ended", func(_ *Kept, _ *Judgement, m *Meta) { m.Ended = time.Time{} }, 3, 0},
		{"it was measured after all, and failed", func(_ *Kept, j *Judgement, _ *Meta) {
			before, _ := attempts()
			f := before.Findings[2]
			f.Verdict, f.Measured = Fail, 3
			j.Findings, j.NotRun = append(j.Findings, f), j.NotRun[1:]
		}, 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, now := attempts()
			rec := &Record{Meta: Meta{Ended: time.Now()}, Machine: Machine{Kept: Keep(before, now, []Class{ClassNVMe}, Loads())}}
			if test.change != nil {
				test.change(rec.Machine.Kept, now, &rec.Meta)
			}
			now.keep(rec)
			copies, failed := 0, false
			for _, f := range now.Findings {
				if f.Check == "gpu.copy" {
					copies++
					failed = failed || f.Verdict == Fail
				}
			}
			if len(now.NotRun) != test.open || copies != test.copies || failed != (test.name == "it was measured after all, and failed") {
				t.Errorf("%d open, %d copies, failed %v: %+v", len(now.NotRun), copies, failed, now.NotRun)
			}
			if now.sumUp() == Passed {
				t.Error("passed although pcie.link width was proven by neither attempt")
			}
		})
	}
}
