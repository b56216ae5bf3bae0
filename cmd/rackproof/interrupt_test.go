package main

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
	"github.com/rackproof/rackproof/provision/simrack"
)

// until asks every few milliseconds until good holds, and fails after limit.
func (k *killRun) until(what string, limit time.Duration, good func() bool) {
	k.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(limit); !good(); {
		select {
		case <-tick.C:
		case <-deadline:
			k.t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// loaded reports whether the healthy machine is under load.
func (k *killRun) loaded() bool {
	return k.rack.Acts()["good"]["host.load.gpu-burn"] > 0 && len(k.rack.Busy()) > 0
}

// run reads how the run stands.
func (k *killRun) run() *provision.Run {
	k.t.Helper()
	e, err := journal.Open(k.t.Context(), k.state(), journal.Options{})
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	run, err := e.Run(k.t.Context(), "kill")
	if err != nil {
		k.t.Fatal(err)
	}
	return &run
}

// Two rackproofs want the same batch at once: the second is refused by name, also
// in the first moment of a state folder. An interrupt leaves the load to the next
// one, `stop` takes it down within five seconds, and both can be resumed.
func TestTwoAtOnceInterruptedAndStopped(t *testing.T) {
	t.Parallel()
	k := newKillRun(t, 50)
	first, second := k.start("run", "-f", k.batch()), k.start("run", "-f", k.batch())
	ended := make(chan *process, 2)
	for _, p := range []*process{first, second} {
		go func() { p.wait(); ended <- p }()
	}
	refused := <-ended
	if first == refused {
		first = second
	}
	k.refused(refused, first)
	k.until("load", patience, k.loaded)
	late := k.start("run", "-f", k.batch())
	late.wait()
	k.refused(late, first)

	k.signal(first, syscall.SIGINT)
	if <-ended; first.cmd.ProcessState.ExitCode() != exitNotFinished || !strings.Contains(first.out.String(), "rackproof resume kill") {
		t.Errorf("interrupted: exit %d\n%s", first.cmd.ProcessState.ExitCode(), first.out.String())
	}
	if !k.loaded() {
		t.Error("an interrupt took the load down")
	}
	next := k.start("resume", "kill")
	k.until("pick up", time.Minute, func() bool {
		said, err := os.ReadFile(filepath.Join(k.state(), "runs", "kill", "good", "1", "evidence.json"))
		return err == nil && strings.Contains(string(said), "picked up the running load")
	})

	began := time.Now()
	if stop := k.start("stop", "--all"); stop.wait() != exitPassed {
		t.Errorf("stop: %s", stop.out.String())
	}
	k.until("loads are down", 5*time.Second-time.Since(began), func() bool { return len(k.rack.Busy()) == 0 })
	if code := next.wait(); code != exitNotFinished {
		t.Errorf("stopped: exit %d, want %d\n%s", code, exitNotFinished, next.out.String())
	}
	before := k.rack.Acts()["good"]
	for act, n := range before {
		if strings.HasPrefix(act, "host.load.") && n != 1 {
			t.Errorf("%s began %d times before it was stopped", act, n)
		}
	}
	if code := k.rackproof(0); code != exitHardware {
		t.Fatalf("carried on: exit %d\n%s", code, k.output)
	}
	k.whole()
	for act, n := range k.rack.Acts()["good"] {
		measured := slices.ContainsFunc(burnin.Loads(), func(l burnin.Load) bool { return l.Alone > 0 && act == "host.load."+l.Name })
		switch stopped := strings.HasPrefix(act, "host.load."); {
		case measured && n != 1:
			t.Errorf("%s began %d times, though it had measured before the stop", act, n)
		case stopped && !measured && n != 2:
			t.Errorf("%s began %d times, want a second time after the stop", act, n)
		case before[act] > 0 && (act == "boot.set" || act == "boot.used") && n != before[act]:
			t.Errorf("%s happened again: %d times", act, n)
		}
	}
}

// An interrupt waits for an act that has begun; a second one does not, and says what was
// left.
func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	k := newRackRun(t, simrack.Options{Seed: 170, Machines: []simrack.MachineSpec{{Name: "good", Fault: "hang-after"}}})
	p := k.start("run", "-f", k.batch())
	ended := make(chan int, 1)
	go func() { ended <- p.wait() }()
	k.until("an act", patience, func() bool {
		_, err := os.Stat(filepath.Join(k.state(), "runs", "kill", "good"))
		return err == nil && len(openActs(k.run().Find("good"))) > 0
	})
	for _, word := range []string{"next safe point", "interrupted again"} {
		k.signal(p, syscall.SIGINT)
		k.until(word, patience, func() bool { return strings.Contains(p.out.String(), word) })
	}
	if code := <-ended; code != exitNotFinished {
		t.Errorf("exit %d, want %d", code, exitNotFinished)
	}
	for _, want := range []string{"next safe point", "interrupted again: ends now", "an act had begun; the next one asks the machine", "rackproof resume kill"} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("no word of %q\n%s", want, p.out.String())
		}
	}
	k.whole()
	if open := openActs(k.run().Find("good")); len(open) == 0 {
		t.Error("no act is open")
	}
}

func (k *killRun) refused(p, owner *process) {
	k.t.Helper()
	want := "run kill is held by pid " + pid(owner)
	if code := p.cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(p.out.String(), want) {
		k.t.Errorf("the second one: exit %d, want %d and %q\n%s", code, exitFailed, want, p.out.String())
	}
}

func pid(p *process) string { return strconv.Itoa(p.cmd.Process.Pid) }

func (k *killRun) signal(p *process, s os.Signal) {
	k.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		k.t.Fatal(err)
	}
}

// A rackproof that is killed while it writes down what a person says has either
// written it or not: saying it again until it is there does nothing twice.
func TestKilledWhileTold(t *testing.T) {
	t.Parallel()
	k := newKillRun(t, 60)
	moments := rand.New(rand.NewPCG(killSeed(t), 60))
	if code := k.rackproof(0); code != exitHardware {
		t.Fatalf("exit %d\n%s", code, k.output)
	}
	once := k.outcome()
	machine := func(name string) *provision.MachineRun { return k.run().Find(name) }
	for _, say := range []struct {
		args []string
		told func() bool
	}{
		{[]string{"retest", "crossed"}, func() bool { return machine("crossed").Attempt == 2 }},
		{[]string{"done", "narrow", "riser reseated"}, func() bool { return machine("narrow").Attempt == 2 }},
		{[]string{"cancel", "kill"}, func() bool { return k.run().Cancelled }},
		{[]string{"resume", "kill"}, func() bool { return !k.run().Cancelled }},
		{[]string{"stop", "--all"}, func() bool { return machine("narrow").Stopped }},
		{[]string{"hands"}, func() bool { return true }},
	} {
		kills := 0
		for ; kills == 0 || !say.told(); kills++ {
			if kills == 50 {
				t.Fatalf("%v is not written down after %d tries", say.args, kills)
			}
			p := k.start(say.args...)
			timer := time.AfterFunc(time.Duration(moments.Int64N(int64(600*time.Millisecond))), func() { _ = p.cmd.Process.Kill() })
			p.wait()
			timer.Stop()
			k.whole()
		}
		t.Logf("%v: %d times, killed", say.args, kills)
	}
	if code := k.rackproof(0); code != exitHardware {
		t.Fatalf("carried on: exit %d\n%s", code, k.output)
	}
	k.whole()
	twice := k.outcome()
	if !maps.Equal(twice.results, once.results) {
		t.Errorf("other results than in the first attempt:\n%s", difference(once.results, twice.results))
	}
	for name, attempts := range map[string]int{"good": 1, "narrow": 2, "crossed": 2} {
		if m := machine(name); m.Attempt != attempts || len(m.Repairs) != attempts-1 {
			t.Errorf("%s: attempt %d after %d repairs, want attempt %d", name, m.Attempt, len(m.Repairs), attempts)
		}
		if _, err := os.Stat(filepath.Join(provision.RunDir(k.state(), "kill"), name, strconv.Itoa(attempts+1))); err == nil {
			t.Errorf("%s has an attempt more on disk", name)
		}
		for act, n := range twice.acts[name] {
			if n > attempts*once.acts[name][act] {
				t.Errorf("%s: %s happened %d times in %d attempts, %d times in the first", name, act, n, attempts, once.acts[name][act])
			}
		}
	}
}
