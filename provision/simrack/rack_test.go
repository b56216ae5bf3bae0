package simrack

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/burnin/shell"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/netboot"
	"github.com/rackproof/rackproof/redfish"
)

func start(t *testing.T, specs ...MachineSpec) *Rack {
	t.Helper()
	r, err := Start(t.Context(), Options{Machines: specs, Seed: 11, PowerDelay: 20 * time.Millisecond, POSTDelay: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func client(t *testing.T, r *Rack, m Info) *redfish.Client {
	t.Helper()
	l := r.Login()
	c, err := redfish.Open(t.Context(), redfish.Config{Addr: m.BMC, User: l.User, Password: l.Password, Poll: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// The BMC and the node of a machine are one thing: same identity, same parts.
func TestInventoryAgreesWithTheNode(t *testing.T) {
	for _, model := range nodetest.Models() {
		t.Run(model, func(t *testing.T) {
			r := start(t, MachineSpec{Name: "m1", Model: model})
			info := r.Machines()[0]
			hw, err := nodetest.New(model, "m1", 11)
			if err != nil {
				t.Fatal(err)
			}
			c := client(t, r, info)
			if c.Vendor() != "supermicro" {
				t.Errorf("vendor %q", c.Vendor())
			}
			inv, err := c.Inventory(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(inv.Partial) > 0 {
				t.Errorf("not read: %v", inv.Partial)
			}
			if member, ok := inv.System.Match(info.Serial); !ok || member == "" {
				t.Errorf("the batch's serial %s matches nothing in %+v", info.Serial, inv.System)
			}
			if inv.System.UUID != hw.UUID || inv.System.BMCMAC != hw.BMCMAC {
				t.Errorf("identity %+v, want UUID %s, BMC MAC %s", inv.System, hw.UUID, hw.BMCMAC)
			}
			if len(inv.CPUs) != hw.CPU.Sockets || len(inv.DIMMs) != len(hw.DIMMs) || len(inv.Drives) != len(hw.Drives) ||
				len(inv.NICs) != len(hw.NICs) || len(inv.PSUs) != len(hw.PSUs) || len(inv.GPUs) != len(hw.GPUs) {
				t.Errorf("counts: %d CPUs, %d DIMMs, %d drives, %d NICs, %d PSUs, %d GPUs", len(inv.CPUs), len(inv.DIMMs), len(inv.Drives), len(inv.NICs), len(inv.PSUs), len(inv.GPUs))
			}
			for _, g := range hw.GPUs {
				i := slices.IndexFunc(inv.GPUs, func(x redfish.GPU) bool { return x.Serial == g.Serial })
				if i < 0 {
					t.Errorf("GPU %s is not in the BMC's list", g.Serial)
				} else if hw.GPUKind.Form == "sxm" && inv.GPUs[i].Label != g.Label {
					t.Errorf("GPU %s is labelled %q, want %q", g.Serial, inv.GPUs[i].Label, g.Label)
				}
			}
		})
	}
}

// A machine boots over HTTP: it fetches script and seed, reports, and its SSH
// server has the key that was made for this boot and shows the token.
func TestBootOverHTTP(t *testing.T) {
	r := start(t, MachineSpec{Name: "m1"})
	info := r.Machines()[0]
	boot := &netboot.Server{Addr: "127.0.0.1:0", State: filepath.Join(t.TempDir(), "boot.json"), Log: slog.New(slog.DiscardHandler)}
	if err := boot.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = boot.Close() }()
	public, err := netboot.PublicKey([]byte(r.Login().Key))
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := boot.Ticket("m1", 1, Image, public)
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, r, info)
	err = c.SetBoot(t.Context(), redfish.Boot{Target: "UefiHttp", Enabled: "Once", Mode: "UEFI", HTTPBootURI: boot.URL("127.0.0.1", ticket.Token)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetPower(t.Context(), redfish.Restart); err != nil {
		t.Fatal(err)
	}
	wait(t, "the host to report", func() bool {
		now, _ := boot.Find("m1", 1)
		return now.Up != nil
	})
	sh := login(t, r, info, ticket.HostKeyPublic)
	out, err := sh.Run(t.Context(), burnin.Command{Line: "cat /proc/cmdline"})
	if err != nil || !strings.Contains(string(out.Out), "rackproof.token="+ticket.Token) {
		t.Errorf("cmdline %q, %v: no token", out.Out, err)
	}
	acts := r.Acts()["m1"]
	if acts["host.boot.http"] != 1 || acts["boot.used"] != 1 || acts["boot.set"] != 1 {
		t.Errorf("acts %v", acts)
	}
	// The override is used up: the next boot is the installed system, with another key.
	for _, action := range []redfish.PowerAction{redfish.ForceOff, redfish.PowerOn} {
		if err := c.SetPower(t.Context(), action); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "the installed system", func() bool { return r.Acts()["m1"]["host.boot.disk"] == 1 })
}

func login(t *testing.T, r *Rack, info Info, hostKey string) burnin.Shell {
	t.Helper()
	key, err := ssh.ParsePrivateKey([]byte(r.Login().Key))
	if err != nil {
		t.Fatal(err)
	}
	host, _, _, _, err := ssh.ParseAuthorizedKey([]byte(hostKey))
	if err != nil {
		t.Fatal(err)
	}
	sh, err := shell.DialSSH(t.Context(), shell.SSHConfig{
		Addr: "root@" + info.Host, Port: info.Port, ConfigFile: "none", NoAgent: true, Signers: []ssh.Signer{key}, HostKeys: []ssh.PublicKey{host},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sh.Close() })
	return sh
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited too long for %s", what)
		}
	}
}

// A DIMM that is missing is missing at the BMC too, and comes back by repair.
func TestRepair(t *testing.T) {
	r := start(t, MachineSpec{Name: "m1", Fault: "dimm-missing"})
	info := r.Machines()[0]
	dimms := func() int {
		inv, err := client(t, r, info).Inventory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(inv.DIMMs)
	}
	if n := dimms(); n != info.DIMMs-1 {
		t.Errorf("%d DIMMs with one missing of %d", n, info.DIMMs)
	}
	if err := r.Repair("m1"); err != nil {
		t.Fatal(err)
	}
	if n := dimms(); n != info.DIMMs {
		t.Errorf("%d DIMMs after the repair, want %d", n, info.DIMMs)
	}
}

// The batch file is one that provision reads without complaint.
func TestBatchYAML(t *testing.T) {
	r := start(t, MachineSpec{Name: "m1"}, MachineSpec{Name: "m2", Fault: "gpu-x8"})
	for name, value := range r.Credentials() {
		t.Setenv(name, value)
	}
	b, err := provision.ParseBatch("batch.yaml", r.BatchYAML("po1"), profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	if b.Name != "po1" || len(b.Machines) != 2 || b.Machines[1].Login.Password != "env:"+EnvPassword {
		t.Errorf("batch %+v", b)
	}
	if m, want := b.Machines[0], r.Machines()[0]; m.Serial != want.Serial || m.SSH.Port != want.Port || *m.Expect.DIMMs != want.DIMMs {
		t.Errorf("machine %+v, want %+v", m, want)
	}
}

// A fault that no simulated machine knows is an error that lists those there are.
func TestUnknownFault(t *testing.T) {
	_, err := Start(t.Context(), Options{Machines: []MachineSpec{{Name: "m1", Fault: "gremlin"}}})
	if err == nil || !strings.Contains(err.Error(), "gremlin") {
		t.Errorf("got %v", err)
	}
}

func TestControl(t *testing.T) {
	r := start(t, MachineSpec{Name: "m1", Fault: "gpu-x8"})
	url, stop, err := r.Control(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) []byte {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		b, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", path, res.Status, err)
		}
		return b
	}
	post := func(path, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		return res.StatusCode
	}
	fault := func() string {
		var list []Info
		if err := json.Unmarshal(get("/machines"), &list); err != nil || len(list) != 1 {
			t.Fatal(err, list)
		}
		return list[0].Fault
	}
	if got := fault(); got != "gpu-x8" {
		t.Errorf("fault %q", got)
	}
	if code := post("/machines/m1/repair", ""); code != http.StatusNoContent || fault() != "" {
		t.Errorf("repair: %d, fault %q", code, fault())
	}
	if code := post("/machines/m1/fault", `{"fault":"slow=1ms"}`); code != http.StatusNoContent || fault() != "slow=1ms" {
		t.Errorf("fault of the BMC: %d, fault %q", code, fault())
	}
	if code := post("/machines/m2/repair", ""); code != http.StatusBadRequest {
		t.Errorf("repair of no machine: %d", code)
	}
	if text := string(get("/batch?name=x1")); !strings.Contains(text, "name: x1") || strings.Contains(text, r.Login().Password) {
		t.Errorf("batch file: %s", text)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, _, err := r.Control(t.Context(), "0.0.0.0:0"); err == nil {
		t.Error("the control listener left loopback")
	}
}
