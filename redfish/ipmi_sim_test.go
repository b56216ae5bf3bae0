package redfish_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// sim is OpenIPMI's BMC simulator on loopback, with a chassis that is a shell script.
type sim struct {
	addr, dir string
	serial    net.Listener
}

// needs looks for a program; a machine without it skips, CI fails.
func needs(t *testing.T, program, debian string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is missing: install Debian's %s", program, debian)
	}
	t.Skipf("%s is not installed (Debian package %s)", program, debian)
	return ""
}

// simPassword has as many bytes as ipmi_sim keeps.
var simPassword = password[:16]

const chassisScript = `#!/bin/sh
cd %[1]q
echo "$@" >>chassis.log
op=$1; shift
case $op in
get) for q in "$@"; do case $q in
       power) echo "power:$(cat power)";;
       boot) echo "boot:$(cat boot)";;
       *) exit 1;;
     esac; done;;
set) while [ $# -gt 1 ]; do k=$1 v=$2; shift 2; case $k in
       power|boot) echo "$v" >$k;;
       shutdown) echo 0 >power;;
       identify) shift $#;;
       *) exit 1;;
     esac; done;;
esac
`

const lanScript = `#!/bin/sh
op=$1; shift
[ "$op" = get ] || exit 0
for p in "$@"; do case $p in
  ip_addr) echo ip_addr:127.0.0.1;;
  ip_addr_src) echo ip_addr_src:static;;
  mac_addr) echo mac_addr:52:54:00:bc:00:01;;
  subnet_mask) echo subnet_mask:255.0.0.0;;
  *_gw_ip_addr) echo $p:0.0.0.0;;
  *_gw_mac_addr) echo $p:00:00:00:00:00:00;;
  *) exit 1;;
esac; done
`

// startSim starts one for the life of the test.
func startSim(t *testing.T) *sim {
	t.Helper()
	program := needs(t, "ipmi_sim", "openipmi")
	s := &sim{dir: t.TempDir()}
	probe, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	s.addr = probe.LocalAddr().String()
	_ = probe.Close()
	if s.serial, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.serial.Close() })
	host, port, _ := net.SplitHostPort(s.addr)
	s.write(t, "power", "0\n", 0o600)
	s.write(t, "boot", "default\n", 0o600)
	s.write(t, "chassis.sh", fmt.Sprintf(chassisScript, s.dir), 0o700)
	s.write(t, "lan.sh", lanScript, 0o700)
	s.write(t, "fru.bin", string(boardFRU()), 0o600)
	s.write(t, "lan.conf", fmt.Sprintf(`name "board"
set_working_mc 0x20
  startlan 1
    addr %s %s
    priv_limit admin
    allowed_auths_callback none md2 md5 straight
    allowed_auths_user none md2 md5 straight
    allowed_auths_operator none md2 md5 straight
    allowed_auths_admin none md2 md5 straight
    guid 332211005544f7408899aabbccddeeff
    lan_config_program "%s/lan.sh"
  endlan
  chassis_control "%s/chassis.sh"
  sol "tcp:%s" 115200
  startnow false
  user 2 true %q %q admin 10 none md2 md5 straight
`, host, port, s.dir, s.dir, s.serial.Addr(), user, simPassword), 0o600)
	s.write(t, "board.emu", s.emulation(), 0o600)
	s.run(t, program)
	return s
}

func (s *sim) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// emulation is a board with a temperature, whose value is in a file, and a power
// supply.
func (s *sim) emulation() string {
	hexed := func(b []byte) string {
		var out strings.Builder
		for _, v := range b {
			fmt.Fprintf(&out, " 0x%02x", v)
		}
		return out.String()
	}
	_ = os.WriteFile(filepath.Join(s.dir, "temperature"), []byte("45\n"), 0o600)
	lines := []string{
		"mc_setbmc 0x20",
		"mc_add 0x20 0x20 no-device-sdrs 0x23 3 0x17 0x9f 0x1291 0xf02 persist_sdr",
		"sel_enable 0x20 100 0x0a",
		fmt.Sprintf(`sensor_add 0x20 0 1 0x01 0x01 poll 200 file "%s/temperature"`, s.dir),
		"sensor_set_value 0x20 0 1 45 0",
		"sensor_set_threshold 0x20 0 1 settable 111000 105 100 95 00 00 00",
		"sensor_set_event_support 0x20 0 1 enable scanning per-state 000111111000000 000111111000000 000111111000000 000111111000000",
		"main_sdr_add 0x20" + hexed(fullSensor(0, 1, 1, 1, 1, 0, 0, 0, "CPU0 Temp")),
		"sensor_add 0x20 0 16 0x08 0x6f",
		"sensor_set_bit_clr_rest 0x20 0 16 0 0",
		"sensor_set_event_support 0x20 0 16 enable scanning per-state 000000000000001 000000000000001 000000000000001 000000000000001",
		"main_sdr_add 0x20" + hexed(compactSensor(0, 16, 8, 0x6f, [2]byte{}, "PSU1 Status")),
		fmt.Sprintf(`mc_add_fru_data 0x20 0 %d file 0 "%s/fru.bin"`, len(boardFRU()), s.dir),
		"mc_enable 0x20", "",
	}
	return strings.Join(lines, "\n")
}

func (s *sim) run(t *testing.T, program string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(s.dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program, "-c", filepath.Join(s.dir, "lan.conf"), "-f", filepath.Join(s.dir, "board.emu"), "-s", filepath.Join(s.dir, "state"), "-n")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("ipmi_sim said: %s", said.String())
		}
	})
}

// open logs in, as soon as the simulator listens.
func (s *sim) open(t *testing.T, change func(*redfish.Config)) *redfish.IPMI {
	t.Helper()
	cfg := redfish.Config{
		Addr: s.addr, User: user, Password: simPassword, Poll: 50 * time.Millisecond, Timeout: 5 * time.Second,
		GracefulWait: 5 * time.Second, PowerWait: 5 * time.Second,
	}
	if change != nil {
		change(&cfg)
	}
	var last error
	for range 100 {
		c, err := redfish.OpenIPMI(t.Context(), cfg)
		if err == nil {
			t.Cleanup(func() {
				if err := c.Close(); err != nil {
					t.Error("close:", err)
				}
			})
			return c
		}
		if last = err; !errors.Is(err, redfish.ErrUnreachable) {
			break
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
	t.Fatal(last)
	return nil
}

// log gives what the chassis was told.
func (s *sim) log(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, "chassis.log"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "set ") })
}

// exercise is what every way to a BMC must be able to do.
func (s *sim) exercise(t *testing.T, c *redfish.IPMI) {
	t.Helper()
	ctx := t.Context()
	id, err := c.Identity(ctx)
	if err != nil || id.SystemSerial != "SYS0007" || id.UUID != "00112233-4455-40f7-8899-aabbccddeeff" || id.BMCMAC != "52:54:00:bc:00:01" || id.BMCFirmware != "3.17" {
		t.Errorf("identity is %+v, %v", id, err)
	}
	for _, act := range []redfish.PowerAction{redfish.PowerOn, redfish.PowerOn, redfish.Restart, redfish.PowerOff} {
		if err := c.SetPower(ctx, act); err != nil {
			t.Fatalf("%s: %v", act, err)
		}
	}
	if state, err := c.Power(ctx); err != nil || state != redfish.Off {
		t.Errorf("power is %s, %v; wanted Off", state, err)
	}
	if err := c.SetBoot(ctx, redfish.Boot{Target: "Pxe"}); err != nil {
		t.Error(err)
	}
	if boot, err := c.Boot(ctx); err != nil || boot.String() != "Pxe/Once" || boot.Note == "" {
		t.Errorf("boot is %+v, %v", boot, err)
	}
	if err := c.SetLocator(ctx, true); err != nil {
		t.Error(err)
	}
	want := []string{"set power 1", "set power 0", "set power 1", "set shutdown 1", "set boot pxe", "set identify 0 1"}
	if got := s.log(t); !slices.Equal(got, want) {
		t.Errorf("the chassis was told %q, wanted %q", got, want)
	}
}

func TestIPMISim(t *testing.T) {
	s := startSim(t)
	c := s.open(t, nil)
	if got := c.Transport(); got != "IPMI: not encrypted by TLS, cipher suite 3, privilege administrator" {
		t.Errorf("transport is %q", got)
	}
	s.exercise(t, c)
	list, err := c.Sensors(t.Context())
	if err != nil || len(list) != 2 || list[0].Reading == nil || *list[0].Reading != 45 || *list[0].Thresholds.UpperCritical != 100 ||
		!slices.Equal(list[1].States, []string{"Presence detected"}) {
		t.Errorf("sensors are %+v, %v", list, err)
	}
	s.write(t, "temperature", "101\n", 0o600)
	for range 100 {
		if list, err := c.Log(t.Context(), time.Time{}); err == nil && len(list) == 2 {
			if list[1].Sensor != "CPU0 Temp" || list[1].Event != "Upper Critical - going high (reading 101 Cel, threshold 100 Cel)" || list[1].Severity != "Critical" {
				t.Errorf("the log says %+v", list[1])
			}
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
	t.Error("a temperature over its limit did not come into the log")
}

func TestIPMISimConsole(t *testing.T) {
	s := startSim(t)
	lines := make(chan net.Conn, 1)
	go func() {
		if conn, err := s.serial.Accept(); err == nil {
			lines <- conn
		}
	}()
	c := s.open(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	out, done := newCapture(), make(chan error, 1)
	go func() { done <- c.Console(ctx, out) }()
	conn := <-lines
	for range 200 { // what comes before the console is active is lost
		if strings.Contains(out.String(), "active") {
			break
		}
		if _, err := conn.Write([]byte("active\r\n")); err != nil {
			t.Fatal(err)
		}
		select {
		case <-out.more:
		case <-time.After(50 * time.Millisecond):
		}
	}
	for i := range 30 {
		line := fmt.Sprintf("[%8d] a line of the kernel\r\n", i)
		if _, err := conn.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		out.waitFor(t, line)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	_ = conn.Close()
}

// The other way: the program ipmitool. What it is called with is looked at.
func TestIPMITool(t *testing.T) {
	needs(t, "ipmitool", "ipmitool")
	s := startSim(t)
	s.open(t, nil) // it listens
	seen := spyOn(t, "ipmitool")
	c := s.open(t, func(cfg *redfish.Config) { cfg.IPMITool = true })
	if got := c.Transport(); got != "IPMI by ipmitool: not encrypted by TLS, cipher suite 3" {
		t.Errorf("transport is %q", got)
	}
	s.exercise(t, c)
	if list, err := c.Log(t.Context(), time.Time{}); err != nil || len(list) != 0 {
		t.Errorf("log is %v, %v", list, err)
	}
	text, err := os.ReadFile(seen)
	if err != nil || !strings.Contains(string(text), "raw 0x00 0x02 0x01") {
		t.Fatalf("ipmitool was not called by the spy: %v", err)
	}
	if strings.Contains(string(text), simPassword) {
		t.Error("the password stands in an argument or the environment of ipmitool")
	}
}

// spyOn puts a script before a program that writes down arguments and environment.
func spyOn(t *testing.T, program string) (record string) {
	t.Helper()
	real, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	record = filepath.Join(dir, "record")
	script := fmt.Sprintf("#!/bin/sh\n{ echo \"$@\"; env; } >>%q\nexec %q \"$@\"\n", record, real)
	if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return record
}
