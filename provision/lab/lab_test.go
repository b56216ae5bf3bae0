package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be the supervisor that Up starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && slices.Contains([]string{"chassis", "lan-config"}, os.Args[1]) {
		if err := bmcHardware(os.Args[1:]); err != nil {
			panic(err)
		}
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "inside" {
		if err := runInside(os.Args[2], os.Args[3]); err != nil {
			panic(err)
		}
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "serve" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := Serve(ctx, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
			panic(err)
		}
		return
	}
	m.Run()
}

// bmcHardware is what ipmi_sim runs.
func bmcHardware(args []string) error {
	if args[0] == "lan-config" {
		return LANConfig(args[1], args[2:], os.Stdout)
	}
	return ChassisControl(context.Background(), args[1], args[2], args[3:], os.Stdout)
}

// needLab skips a test where a lab cannot run; in CI that is a failure.
func needLab(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts virtual machines")
	}
	err := Check()
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
}

// newLab brings a lab up in a folder of its own, and down at the end.
func newLab(t *testing.T, o Options) *Client {
	t.Helper()
	needLab(t)
	o.Dir = filepath.Join(t.TempDir(), "lab")
	if _, err := Up(t.Context(), o, func(s Stage) { t.Logf("%5.1f s %s", s.Seconds, s.Name) }); err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c, err := Open(context.Background(), o.Dir)
		if errors.Is(err, ErrNoLab) {
			return
		}
		if err := errors.Join(err, c.Down(context.Background(), false)); err != nil {
			t.Error(err)
		}
	})
	return c
}

// inside are the processes in the network namespace of pid, by command. The
// namespace is named by its link, "net:[4026532281]".
func inside(t *testing.T, namespace string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && to == namespace {
			comm, _ := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(l)), "comm"))
			found = append(found, strings.TrimSpace(string(comm)))
		}
	}
	return found
}

func namespaceOf(t *testing.T, pid int) string {
	t.Helper()
	ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		t.Fatal(err)
	}
	if own, err := os.Readlink("/proc/self/ns/net"); err != nil || own == ns {
		t.Fatalf("the lab is in our own network namespace, %v", err)
	}
	return ns
}

// gone waits until nobody is in the namespace.
func gone(t *testing.T, namespace string) {
	t.Helper()
	var left []string
	within(t, 10*time.Second, func() bool {
		left = inside(t, namespace)
		return len(left) == 0
	}, func() string { return fmt.Sprintf("left in the lab's namespace: %q", left) })
}

// within waits until done, or fails with what.
func within(t *testing.T, limit time.Duration, done func() bool, what func() string) {
	t.Helper()
	end := time.Now().Add(limit)
	for !done() {
		if time.Now().After(end) {
			t.Fatal(what())
		}
		if err := wait(t.Context(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// seen waits until a file of the machine holds text.
func seen(t *testing.T, path, text string, limit time.Duration) {
	t.Helper()
	var b []byte
	within(t, limit, func() bool {
		b, _ = os.ReadFile(path)
		return bytes.Contains(b, []byte(text))
	}, func() string { return fmt.Sprintf("no %q in %s:\n%s", text, path, b) })
}

func TestLabLeavesNothing(t *testing.T) {
	ends := map[string]func(c *Client) error{
		"down": func(c *Client) error {
			err := c.Down(t.Context(), false)
			if _, left := os.Stat(c.dir); !errors.Is(left, os.ErrNotExist) {
				return errors.Join(err, errors.New("the folder is left"))
			}
			return err
		},
		"killed": func(c *Client) error { return syscall.Kill(c.pid, syscall.SIGKILL) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			c := newLab(t, Options{Machines: 1, Firmware: BIOS, GPUs: 1})
			ns := namespaceOf(t, c.pid)
			if err := c.Power(t.Context(), "lab1", ActOn, "test"); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(inside(t, ns), " "); !strings.Contains(got, "qemu-system") {
				t.Fatalf("no QEMU in the namespace: %s", got)
			}
			if err := end(c); err != nil {
				t.Error(err)
			}
			gone(t, ns)
			if _, err := Open(t.Context(), c.dir); !errors.Is(err, ErrNoLab) {
				t.Errorf("open a lab that ended: %v", err)
			}
			if name == "killed" { // the next one clears up
				if left, err := Clean(c.dir); !left || err != nil {
					t.Errorf("clean: %v, %v", left, err)
				}
			}
		})
	}
}

func TestUpThatIsInterruptedLeavesNothing(t *testing.T) {
	needLab(t)
	dir := filepath.Join(t.TempDir(), "lab")
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Up(ctx, Options{Dir: dir, Machines: 1, Firmware: BIOS, GPUs: 1}, func(s Stage) {
		if s.Name == "networks" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("up: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

// `up` can be killed too: the supervisor must not go on for nobody.
func TestSupervisorEndsWithUp(t *testing.T) {
	needLab(t)
	dir := filepath.Join(t.TempDir(), "lab")
	near, far, err := socketPair("up")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "serve")
	cmd.ExtraFiles = []*os.File{far}
	isolate(cmd)
	if err := errors.Join(cmd.Start(), far.Close()); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(near).Encode(Options{Dir: dir, Machines: 1, Firmware: BIOS, GPUs: 1}); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.NewDecoder(near).Decode(&r); err != nil || r.Stage == nil {
		t.Fatalf("the first report: %+v, %v", r, err)
	}
	if err := near.Close(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // it says that nobody listens
	if !kill.Stop() {
		t.Error("the supervisor outlives `up`")
	}
	if _, err := Open(t.Context(), dir); !errors.Is(err, ErrNoLab) {
		t.Errorf("open: %v", err)
	}
}

func TestSecondUpFindsTheFirst(t *testing.T) {
	c := newLab(t, Options{Machines: 2, Firmware: BIOS, GPUs: 1})
	tell := func(s Stage) { t.Errorf("built again: %s", s.Name) }
	s, err := Up(t.Context(), Options{Dir: c.dir, Machines: 2, Firmware: BIOS, GPUs: 1}, tell)
	if err != nil || s.PID != c.pid || len(s.Machines) != 2 {
		t.Errorf("second up: %+v, %v", s, err)
	}
	if _, err := Up(t.Context(), Options{Dir: c.dir, Machines: 1, Firmware: BIOS, GPUs: 1}, tell); err == nil {
		t.Error("another lab was asked for and none said so")
	}
}

func TestMachinePower(t *testing.T) {
	c := newLab(t, Options{Machines: 1, Firmware: BIOS, GPUs: 2})
	dir := filepath.Join(c.dir, "lab1")
	ctx := t.Context()
	for _, step := range []func() error{
		func() error { return c.SetBoot(ctx, "lab1", BootChoice{Device: BootPXE}, "test") },
		func() error { return c.Power(ctx, "lab1", ActOn, "test") },
		func() error { return c.Power(ctx, "lab1", ActOn, "test") }, // does nothing
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	seen(t, filepath.Join(dir, "serial.log"), "iPXE", time.Minute)
	if err := c.Power(ctx, "lab1", ActReset, "test"); err != nil { // the choice is used up
		t.Fatal(err)
	}
	seen(t, filepath.Join(dir, "serial.log"), "No bootable device", time.Minute)
	s, err := c.Status(ctx)
	if err != nil || !s.Machines[0].On {
		t.Errorf("status %+v, %v", s, err)
	}
	if err := c.Power(ctx, "lab1", ActOff, "test"); err != nil {
		t.Fatal(err)
	}
	if err := c.Power(ctx, "lab1", ActReset, "test"); err == nil {
		t.Error("a machine that is off was reset")
	}
	b, err := os.ReadFile(filepath.Join(dir, "chassis.log"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(b)) {
		_, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		got = append(got, what)
	}
	want := []string{"boot set pxe by=test", "power on boot=pxe by=test", "reset boot=own by=test", "power off by=test"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("chassis log\n%q\nwant\n%q", got, want)
	}
}
