package lab

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// insideVariable names the lab's folder to a test that runs in its network.
const insideVariable = "RACKPROOF_LAB_TEST_DIR"

// runInside makes this process run one test in the network of the lab in dir.
func runInside(dir, test string) error {
	c, err := Open(context.Background(), dir)
	if err != nil {
		return err
	}
	if err := os.Setenv(insideVariable, dir); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return c.Run([]string{self, "-test.run=^" + test + "$", "-test.v", "-test.timeout=8m"})
}

// inNetwork runs a test inside the lab's network, as rackproof would be there.
func inNetwork(t *testing.T, c *Client, test string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), self, "inside", c.dir, test).CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+test)) {
		t.Errorf("%s: %v", test, err)
	}
}

func TestBMCs(t *testing.T) {
	c := newLab(t, Options{Machines: 1, Firmware: BIOS, GPUs: 2})
	inNetwork(t, c, "TestInsideBMCs")
}

// TestInsideBMCs drives one machine by both of its BMCs.
func TestInsideBMCs(t *testing.T) {
	dir := os.Getenv(insideVariable)
	if dir == "" {
		t.Skip("runs inside a lab's network, by TestBMCs")
	}
	c, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	p := openBoth(t, c, NewSpec(1, dir))
	t.Run("identity", p.identity)
	t.Run("sensors", p.sensors)
	t.Run("events", p.events)
	t.Run("power", p.power)
	t.Run("console", p.console)
	t.Run("media", p.media)
	t.Run("bios", p.bios)
	t.Run("slow", p.slow)
	t.Run("dead", p.dead)
	t.Run("power loss", p.powerLoss)
}

// both are the two BMCs of a machine as rackproof sees them.
type both struct {
	lab     *Client
	spec    Spec
	redfish *redfish.Client
	ipmi    *redfish.IPMI
}

func openBoth(t *testing.T, c *Client, spec Spec) *both {
	t.Helper()
	p := &both{lab: c, spec: spec}
	cfg := redfish.Config{Addr: spec.BMCIP(), User: BMCUser, Password: BMCPassword, Poll: 100 * time.Millisecond, PowerWait: time.Minute}
	var err error
	if p.redfish, err = redfish.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.redfish.Close() })
	if p.ipmi, err = redfish.OpenIPMI(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.ipmi.Close() })
	return p
}

func (p *both) fault(t *testing.T, name, value string) {
	t.Helper()
	if _, err := p.lab.Fault(t.Context(), p.spec.Name, name, value); err != nil {
		t.Fatal(err)
	}
}

func (p *both) identity(t *testing.T) {
	r, err := p.redfish.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i, err := p.ipmi.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.UUID != p.spec.UUID() || r.SystemSerial != p.spec.Serial() || i.SystemSerial != r.SystemSerial || i.ChassisSerial != r.ChassisSerial {
		t.Errorf("Redfish %+v\nIPMI %+v", r, i)
	}
	inventory, err := p.redfish.Inventory(t.Context())
	if err != nil || len(inventory.Partial) > 0 {
		t.Fatalf("%v, missing %q", err, inventory.Partial)
	}
	if len(inventory.GPUs) != 2 || len(inventory.DIMMs) != dimmCount || len(inventory.Drives) != 2 || len(inventory.PSUs) != 2 || len(inventory.CPUs) != 1 {
		t.Errorf("inventory %+v", inventory)
	}
	if inventory.GPUs[1].Serial != p.spec.GPUSerial(1) || inventory.GPUs[1].Label != "GPU1" {
		t.Errorf("GPU %+v", inventory.GPUs[1])
	}
}

// readings are the sensors that have a number, by name.
func readings(t *testing.T, list []redfish.Sensor, err error) map[string]float64 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, s := range list {
		if s.Reading != nil {
			values[s.Name] = *s.Reading
		}
	}
	return values
}

func (p *both) sensors(t *testing.T) {
	list, err := p.redfish.Sensors(t.Context())
	r := readings(t, list, err)
	list, err = p.ipmi.Sensors(t.Context())
	i := readings(t, list, err)
	want := 0
	for _, s := range sensorsOf(p.spec) {
		if s.discrete() || s.absent {
			continue
		}
		want++
		if value := float64(s.healthy) * float64(s.factor); r[s.name] != value || i[s.name] != value {
			t.Errorf("%s: Redfish %g, IPMI %g, want %g", s.name, r[s.name], i[s.name], value)
		}
	}
	// Redfish also tells what the power supplies draw, and nobody tells of the empty socket.
	if _, read := r["CPU1 Temp"]; read || len(i) != want {
		t.Errorf("%d sensors over IPMI, want %d; one in an empty socket was read over Redfish: %t", len(i), want, read)
	}
}

// events puts faults in and heals them: the logs of both tell of the same.
func (p *both) events(t *testing.T) {
	for _, fault := range []string{"cpu-hot", "fan-dead", "psu-lost"} {
		p.fault(t, fault, "")
	}
	p.bothLog(t, 6, true)
	for _, s := range []string{"CPU0 Temp", "FAN2"} {
		list, err := p.redfish.Sensors(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if k := slices.IndexFunc(list, func(x redfish.Sensor) bool { return x.Name == s }); k < 0 || list[k].Health != "Critical" {
			t.Errorf("Redfish shows %s as healthy", s)
		}
	}
	p.fault(t, NoFault, "")
	p.bothLog(t, 12, false)
}

// bothLog waits until both logs have so many entries, and compares them.
func (p *both) bothLog(t *testing.T, count int, asserted bool) {
	t.Helper()
	var r, i []redfish.LogEntry
	within(t, 20*time.Second, func() bool {
		var err error
		if r, err = p.redfish.Log(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
		if i, err = p.ipmi.Log(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
		return len(r) == count && len(i) == count
	}, func() string {
		return fmt.Sprintf("%d entries over Redfish, %d over IPMI, want %d", len(r), len(i), count)
	})
	tell := func(list []redfish.LogEntry) []string {
		var out []string
		for _, e := range list {
			out = append(out, fmt.Sprintf("%s asserted %t", e.Sensor, e.Asserted != nil && *e.Asserted))
			if e.Time.Before(time.Now().Add(-10*time.Minute)) || e.Time.After(time.Now().Add(time.Minute)) {
				t.Errorf("stamped %v: %+v", e.Time, e)
			}
		}
		slices.Sort(out)
		return out
	}
	if a, b := tell(r), tell(i); !slices.Equal(a, b) {
		t.Errorf("Redfish\n%s\nIPMI\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	if last := i[len(i)-1]; last.Asserted == nil || *last.Asserted != asserted {
		t.Errorf("last %+v", last)
	}
}

// chassis is what the machine did, without the times.
func (p *both) chassis(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.spec.Dir, "chassis.log"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		_, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(what, "fault") {
			lines = append(lines, what)
		}
	}
	return lines
}

func (p *both) power(t *testing.T) {
	ctx := t.Context()
	steps := []struct {
		what string
		do   func() error
	}{
		{"boot by Redfish", func() error { return p.redfish.SetBoot(ctx, redfish.Boot{Target: "Pxe", Enabled: "Once"}) }},
		{"on by IPMI", func() error { return p.ipmi.SetPower(ctx, redfish.PowerOn) }},
		{"boot by IPMI", func() error { return p.ipmi.SetBoot(ctx, redfish.Boot{Target: "Hdd", Enabled: "Once"}) }},
		{"restart by Redfish", func() error { return p.redfish.SetPower(ctx, redfish.Restart) }},
		{"off by Redfish", func() error { return p.redfish.SetPower(ctx, redfish.ForceOff) }},
		{"off again by IPMI", func() error { return p.ipmi.SetPower(ctx, redfish.ForceOff) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.what, err)
		}
	}
	want := []string{
		"boot set pxe by=redfish", "power on boot=pxe by=ipmi", "boot set disk by=ipmi", "reset boot=disk by=redfish", "power off by=redfish",
	}
	if got := p.chassis(t); !slices.Equal(got, want) {
		t.Errorf("chassis log\n%s", strings.Join(got, "\n"))
	}
	boot, err := p.redfish.Boot(ctx)
	if err != nil || boot.Enabled != "Disabled" {
		t.Errorf("the override is not used up: %+v, %v", boot, err)
	}
}

// console listens to the serial line by way of the BMC.
func (p *both) console(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	heard := &transcript{}
	done := make(chan error, 1)
	go func() { done <- p.ipmi.Console(ctx, heard) }()
	if err := p.redfish.SetPower(ctx, redfish.PowerOn); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, func() bool { return strings.Contains(heard.String(), "Booting from") }, heard.String)
	stop()
	<-done
	if err := p.redfish.SetPower(t.Context(), redfish.ForceOff); err != nil {
		t.Fatal(err)
	}
}

// transcript may be read while it is written.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *transcript) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func (p *both) media(t *testing.T) {
	ln, err := net.Listen("tcp", net.JoinHostPort(ProvisioningAddress, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 64<<10)) })}
	go func() { _ = server.Serve(ln) }()
	defer server.Close()
	slot, err := p.redfish.InsertMedia(t.Context(), fmt.Sprintf("http://%s/live.iso", ln.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	seen(t, filepath.Join(p.spec.Dir, "chassis.log"), "media inserted", 20*time.Second)
	if err := p.redfish.EjectMedia(t.Context(), slot); err != nil {
		t.Fatal(err)
	}
	seen(t, filepath.Join(p.spec.Dir, "chassis.log"), "media ejected", 20*time.Second)
}

// bios stages a value, which takes effect at the next start, whoever asks for it.
func (p *both) bios(t *testing.T) {
	ctx := t.Context()
	want := map[string]any{"HyperThreading": "Disabled"}
	changes, err := p.redfish.PlanBIOS(ctx, want)
	if err != nil || len(changes) != 1 {
		t.Fatalf("plan %+v, %v", changes, err)
	}
	if _, err := p.redfish.StageBIOS(ctx, changes); err != nil {
		t.Fatal(err)
	}
	if err := p.ipmi.SetPower(ctx, redfish.PowerOn); err != nil {
		t.Fatal(err)
	}
	within(t, 20*time.Second, func() bool {
		left, err := p.redfish.VerifyBIOS(ctx, want)
		return err == nil && len(left) == 0
	}, func() string { return "the value did not take effect" })
	if err := p.ipmi.SetPower(ctx, redfish.ForceOff); err != nil {
		t.Fatal(err)
	}
}
