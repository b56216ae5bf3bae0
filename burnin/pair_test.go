package burnin

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// fakePerftest serves, and measures as ib_write_bw prints it. A client that comes before
// its server fails, as the real one does.
const fakePerftest = `#!/bin/sh
case "$*" in
*--bind_source_ip*) : >"$PAIR_TEST/serving"; exec sleep 3 ;;
esac
dev=$2
[ -e "$PAIR_TEST/serving" ] || { echo "Couldn't connect to 10.0.0.2:18515" >&2; exit 1; }
[ "$dev" != mlx5_9 ] || { echo " Couldn't allocate MR" >&2; exit 1; }
cat <<END
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : $dev
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             0.00               392.10		   0.747875
END
`

// pairNode gives a pair on this machine whose ports are those named, as "mlx5_0 400 ACTIVE".
func pairNode(t *testing.T, ports ...string) *Pair {
	t.Helper()
	needsLinux(t)
	dir := t.TempDir()
	put := func(file, text string) {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range ports {
		f := strings.Fields(p)
		at := "sys/class/infiniband/" + f[0] + "/ports/1/"
		put(at+"state", "4: "+f[2]+"\n")
		put(at+"rate", f[1]+" Gb/sec (4X NDR)\n")
		put(at+"link_layer", "InfiniBand\n")
	}
	put("bin/ib_write_bw", fakePerftest)
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("PAIR_TEST", dir)
	p := &profiles.Profile{}
	p.IB.Rate, p.IB.Bandwidth = ratedLimit(profiles.Min, 400, profiles.GbPerSecond), ratedLimit(profiles.Min, 360, profiles.GbPerSecond)
	return &Pair{
		Node: hostShell{}, Peer: hostShell{}, Name: "r1u2", Addr: "127.0.0.1", Profile: p, Origin: FromSSH, For: time.Second,
		Claim: Claim{Run: "r", Attempt: 1, Owner: "me@here", Root: filepath.Join(dir, "root")}, sys: filepath.Join(dir, "sys"),
	}
}

// judgedPair collects and judges.
func judgedPair(t *testing.T, p *Pair) map[string]Finding {
	t.Helper()
	got, err := p.Collect(t.Context(), PhaseBefore)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.Claim.Root); !os.IsNotExist(err) {
		t.Errorf("the folder on the node is left: %v", err)
	}
	return judged(t, &Record{Meta: Meta{Coverage: CoverHost}, Evidence: got}, p.Profile, newGPUParts, ibBandwidth)
}

const railID = "ib.bandwidth/bandwidth/InfiniBand port "

// Each rail is measured with the one at its place, and what has none says so.
func TestPairByRail(t *testing.T) {
	p := pairNode(t, "mlx5_10 400 ACTIVE", "mlx5_2 400 ACTIVE", "mlx5_3 100 ACTIVE", "mlx5_4 400 DOWN")
	got := judgedPair(t, p)
	wantAnswers(t, got, map[string]string{railID + "mlx5_2/before": "pass", railID + "mlx5_10/before": "pass"}, true)
	if peer := got[railID+"mlx5_2/before"].Peer; peer != "r1u2 mlx5_2" {
		t.Errorf("the peer is %q", peer)
	}
	if again, err := p.Collect(t.Context(), PhaseAfter); err != nil || again != nil {
		t.Errorf("in another phase: %v, %v", again, err)
	}
}

func TestPairings(t *testing.T) {
	here := &pairEnd{rails: []rail{{device: "a"}, {device: "b"}, {device: "c"}}}
	there := &pairEnd{rails: []rail{{device: "x"}, {device: "y"}}}
	pairs, alone := (&Pair{Peer: hostShell{}}).pairings(here, there)
	if len(pairs) != 2 || pairs[1].client.device != "b" || pairs[1].server.device != "y" || len(alone) != 1 || alone[0].device != "c" {
		t.Errorf("%v, alone %v", pairs, alone)
	}
	pairs, alone = (&Pair{}).pairings(here, here)
	if len(pairs) != 2 || pairs[0].client.device != "a" || pairs[1].client.device != "b" || pairs[1].server.device != "a" || len(alone) != 1 || alone[0].device != "c" {
		t.Errorf("neighbours %v, alone %v", pairs, alone)
	}
}

// A program that fails, a peer in work, a missing program and a missing rail are no pass
// and no failure of the ports.
func TestPairNotMeasured(t *testing.T) {
	t.Run("the program fails", func(t *testing.T) {
		got := judgedPair(t, pairNode(t, "mlx5_9 400 ACTIVE"))
		wantAnswers(t, got, map[string]string{railID + "mlx5_9/before": "not_run"}, true)
	})
	t.Run("no port", func(t *testing.T) {
		got := judgedPair(t, pairNode(t))
		wantAnswers(t, got, map[string]string{"ib.bandwidth/bandwidth/InfiniBand ports/before": "not_run"}, true)
	})
	t.Run("the peer is in work", func(t *testing.T) {
		p := pairNode(t, "mlx5_2 400 ACTIVE")
		other := Claim{Run: "another", Attempt: 1, Owner: "you@there", Root: p.Claim.Root}
		if _, err := acquire(t.Context(), hostShell{}, other); err != nil {
			t.Fatal(err)
		}
		got, err := p.Collect(t.Context(), PhaseBefore)
		if err != nil || len(got) != 1 || !strings.Contains(string(got[0].Err), "no partner: ") || !strings.Contains(string(got[0].Err), "you@there") {
			t.Errorf("%v, %v", got, err)
		}
		if freed, err := ReleaseNode(t.Context(), hostShell{}, p.Claim.Root, "another"); err != nil || freed == "" {
			t.Errorf("the other's folder is gone: %q, %v", freed, err)
		}
	})
	t.Run("measured before", func(t *testing.T) {
		p := pairNode(t, "mlx5_2 400 ACTIVE")
		store, err := OpenStore(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := store.SetMeta(Meta{Run: "r"}); err != nil {
			t.Fatal(err)
		}
		if err := store.SetMachine(Machine{Name: "m"}); err != nil {
			t.Fatal(err)
		}
		one := 0
		if err := store.Add(&Evidence{Probe: "ib-bandwidth", Instance: "mlx5_2", Phase: PhaseBefore, Ended: EndedExit, Exit: &one, Source: FromSSH, Started: time.Now()}); err != nil {
			t.Fatal(err)
		}
		p.Store = store
		if got, err := p.Collect(t.Context(), PhaseBefore); err != nil || got != nil {
			t.Errorf("measured again: %v, %v", got, err)
		}
	})
}

// What a killed process has left on a node is of another pair, and is not taken for this one.
func TestPairAfterKill(t *testing.T) {
	p := pairNode(t, "mlx5_2 400 ACTIVE")
	old, err := acquire(t.Context(), hostShell{}, p.claim())
	if err != nil {
		t.Fatal(err)
	}
	if err := old.start(t.Context(), "pair-client-0", "load", "echo of another pair", time.Minute); err != nil {
		t.Fatal(err)
	}
	wantAnswers(t, judgedPair(t, p), map[string]string{railID + "mlx5_2/before": "pass"}, true)
}

// Without a peer nothing is measured but where the profile has neighbours paired.
func TestPairLoopback(t *testing.T) {
	p := pairNode(t, "mlx5_0 400 ACTIVE", "mlx5_1 400 ACTIVE")
	p.Peer = nil
	if got, err := p.Collect(t.Context(), PhaseBefore); err != nil || got != nil {
		t.Fatalf("without being asked: %v, %v", got, err)
	}
	p.Profile.IB.Loopback = true
	wantAnswers(t, judgedPair(t, p), map[string]string{railID + "mlx5_0/before": "pass", railID + "mlx5_1/before": "pass"}, true)
}

// The real iperf3, where it is installed, listens at the one address and ends.
func TestPairByIPerf(t *testing.T) {
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip("iperf3 is not installed here")
	}
	p := pairNode(t)
	p.Profile = &profiles.Profile{}
	got := judgedPair(t, p)
	f := got["ib.bandwidth/bandwidth/network/before"]
	if rate, ok := f.Measured.(float64); !ok || rate <= 0 || f.Peer != "r1u2" {
		t.Errorf("%+v of %v", f, got)
	}
}

func TestPairCommands(t *testing.T) {
	p := &Pair{Peer: hostShell{}, Name: "r1u2", Addr: "10.0.0.2"}
	server, client := p.commands(pairing{rail{device: "mlx5_0", port: "1"}, rail{device: "mlx5_4", port: "1"}}, 2)
	for text, want := range map[string]string{
		server: "exec timeout -k 5 40 ib_write_bw -d 'mlx5_4' -i 1 -s 65536 -D 10 --report_gbits -F -p 18517 --bind_source_ip '10.0.0.2'",
		client: "timeout -k 5 40 ib_write_bw -d 'mlx5_0' -i 1 -s 65536 -D 10 --report_gbits -F -p 18517 '10.0.0.2' >out.try",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}
