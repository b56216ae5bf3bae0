package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// startIPMI starts OpenIPMI's simulator on loopback, as a BMC with one temperature,
// and gives its address. A machine without it skips, CI fails.
func startIPMI(t *testing.T) (addr string) {
	t.Helper()
	program, err := exec.LookPath("ipmi_sim")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("ipmi_sim is missing: install Debian's openipmi")
	}
	if err != nil {
		t.Skip("ipmi_sim is not installed (Debian package openipmi)")
	}
	dir := t.TempDir()
	free, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	addr = free.LocalAddr().String()
	_ = free.Close()
	_, port, _ := net.SplitHostPort(addr)
	for name, text := range map[string]string{
		"power": "0\n",
		"chassis.sh": fmt.Sprintf("#!/bin/sh\ncd %q\ncase \"$*\" in\n\"get power\") echo \"power:$(cat power)\";;\n\"get boot\") echo boot:default;;\n"+
			"\"set power \"*) echo \"$3\" >power;;\nesac\n", dir),
		"lan.conf": fmt.Sprintf("name \"board\"\nset_working_mc 0x20\n  startlan 1\n    addr 127.0.0.1 %s\n    priv_limit admin\n    allowed_auths_admin none md2 md5 straight\n"+
			"    guid 332211005544f7408899aabbccddeeff\n  endlan\n  chassis_control \"%s/chassis.sh\"\n  startnow false\n  user 2 true %q %q admin 10 none md2 md5 straight\n",
			port, dir, bmcUser, bmcPassword[:16]),
		"board.emu": "mc_setbmc 0x20\nmc_add 0x20 0x20 no-device-sdrs 0x23 3 0x17 0x9f 0x1291 0xf02 persist_sdr\nsel_enable 0x20 100 0x0a\n" +
			"sensor_add 0x20 0 1 0x01 0x01\nsensor_set_value 0x20 0 1 45 0\n" +
			"sensor_set_event_support 0x20 0 1 enable scanning per-state 000111111000000 000111111000000 000111111000000 000111111000000\n" +
			"sensor_set_threshold 0x20 0 1 settable 111000 105 100 95 00 00 00\n" +
			"main_sdr_add 0x20 0x00 0x00 0x51 0x01 0x34 0x20 0x00 0x01 0x03 0x01 0x7f 0x68 0x01 0x01 0x95 0x7a 0x95 0x7a 0x3f 0x3f 0x00 0x01 0x00 0x00 0x01 0x00 0x00 0x00 " +
			"0x00 0x00 0x07 0x2d 0xff 0x00 0xff 0x00 0x69 0x64 0x5f 0x00 0x00 0x00 0x02 0x02 0x00 0x00 0x00 0xc9 0x43 0x50 0x55 0x30 0x20 0x54 0x65 0x6d 0x70\nmc_enable 0x20\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-c", filepath.Join(dir, "lan.conf"), "-f", filepath.Join(dir, "board.emu"), "-s", t.TempDir(), "-n")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return addr
}

func TestBMCOverIPMI(t *testing.T) {
	addr := startIPMI(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(bmcPassword[:16]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BMC_USER", bmcUser)
	state := t.TempDir()
	run := func(args ...string) (int, string, string) {
		return bmc(t, append([]string{addr, "--state", state, "-v", "--protocol", "ipmi", "--password", "file:" + secret}, args...)...)
	}
	for range 100 { // until it listens
		if code, _, _ := run("power"); code == exitPassed {
			break
		}
		<-time.After(50 * time.Millisecond) // nothing tells when ipmi_sim listens
	}
	for _, c := range []struct {
		name  string
		args  []string
		code  int
		words []string
	}{
		{"power", []string{"power"}, exitPassed, []string{"Off"}},
		{"power on", []string{"power", "on"}, exitPassed, []string{"On"}},
		{"sensors", []string{"sensors"}, exitPassed, []string{"CPU0 Temp", "45 Cel", "… 100", "OK"}},
		{"log", []string{"sel"}, exitPassed, []string{"0 entries"}},
		{"log since", []string{"sel", "--since", "24h"}, exitPassed, []string{"0 entries"}},
		{"log since nonsense", []string{"sel", "--since", "tuesday"}, exitUsage, []string{`--since "tuesday"`}},
		{"inventory", []string{"inventory"}, exitIncomplete, []string{"00112233-4455-40f7-8899-aabbccddeeff", "not read: ipmi: does not list GPUs"}},
		{"firmware", []string{"firmware"}, exitPassed, []string{"BMC", "3.17"}},
		{"locate", []string{"locate", "on"}, exitFailed, []string{"it can be switched"}},
		{"bios", []string{"bios"}, exitFailed, []string{"does not offer it over ipmi", "leave --protocol out"}},
		{"media", []string{"media", "list"}, exitFailed, []string{"does not offer it over ipmi"}},
		{"password", []string{"password", "rotate", "--store", "file:" + filepath.Join(state, "new")}, exitUsage, []string{"leave --protocol out"}},
		{"console without one", []string{"console", "--for", "1s"}, exitFailed, []string{"no serial console over LAN"}},
		{"console as JSON to stdout", []string{"--json", "console"}, exitUsage, []string{"console goes to a file"}},
		{"protocol", []string{"--protocol", "snmp", "power"}, exitUsage, []string{"choose one of [redfish ipmi ipmitool]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := run(c.args...)
			if code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			for _, w := range c.words {
				if !strings.Contains(out+errs, w) {
					t.Errorf("%q is not in %s%s", w, out, errs)
				}
			}
			if strings.Contains(out+errs, bmcPassword[:16]) {
				t.Error("the password is printed")
			}
		})
	}
	if searchSecrets(t, state, []string{bmcPassword[:16]}) == 0 {
		t.Error("no file of state was searched")
	}
	code, out, _ := run("--json", "sensors")
	var sensors struct {
		Sensors []struct {
			Name    string
			Reading *float64
		}
	}
	if err := json.Unmarshal([]byte(out), &sensors); err != nil || code != exitPassed || len(sensors.Sensors) != 1 || *sensors.Sensors[0].Reading != 45 {
		t.Errorf("exit %d, %v: %s", code, err, out)
	}
	if _, out, _ := run("--json", "sel"); !json.Valid([]byte(out)) || !strings.Contains(out, `"entries":[]`) && !strings.Contains(out, `"entries": []`) {
		t.Errorf("log as JSON: %s", out)
	}
}

// --since takes a time or how long ago.
func TestMoment(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		text string
		want time.Time
	}{
		{"", time.Time{}},
		{"90m", now.Add(-90 * time.Minute)},
		{"2026-01-31T08:00:00Z", time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)},
		{"2026-01-31", time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local)},
	} {
		if got, err := moment(c.text, now); err != nil || !got.Equal(c.want) {
			t.Errorf("%q is %s, %v; want %s", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"-1h", "yesterday", "12"} {
		if got, err := moment(text, now); err == nil {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}

// What is measured and logged is read over Redfish by the same verbs.
func TestBMCReadingsOverRedfish(t *testing.T) {
	tree := bmcMachine()
	tree["/redfish/v1/Systems/a"] = bytes.Replace(tree["/redfish/v1/Systems/a"], []byte(`"Links":{`),
		[]byte(`"LogServices":{"@odata.id":"/redfish/v1/Systems/a/LogServices"},"Links":{"Chassis":[{"@odata.id":"/redfish/v1/Chassis/1"}],`), 1)
	for path, body := range map[string]string{
		"/redfish/v1/Chassis/1":         `{"Id":"1","Thermal":{"@odata.id":"/redfish/v1/Chassis/1/Thermal"}}`,
		"/redfish/v1/Chassis/1/Thermal": `{"Temperatures":[{"Name":"CPU1 Temp","ReadingCelsius":45,"UpperThresholdCritical":95,"Status":{"State":"Enabled","Health":"OK"}}]}`,
		"/redfish/v1/Managers/1": fmt.Sprintf(`{"Id":"1","NetworkProtocol":{"@odata.id":"/redfish/v1/Managers/1/NetworkProtocol"},
			"DateTime":%q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339)),
		"/redfish/v1/Systems/a/LogServices":     `{"Members":[{"@odata.id":"/redfish/v1/Systems/a/LogServices/SEL"}]}`,
		"/redfish/v1/Systems/a/LogServices/SEL": `{"Id":"SEL","LogEntryType":"SEL","Entries":{"@odata.id":"/redfish/v1/Systems/a/LogServices/SEL/Entries"}}`,
		"/redfish/v1/Systems/a/LogServices/SEL/Entries": `{"Members@odata.count":2,"Members":[
			{"Id":"1","Created":"2026-01-31T08:00:00Z","Severity":"Critical","Message":"Uncorrectable ECC","SensorType":"Memory"},
			{"Id":"2","Created":"2026-01-30T08:00:00Z","Severity":"OK","Message":"Power on","SensorType":"System Event"}]}`,
	} {
		tree[path] = []byte(body)
	}
	sim, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{Tree: tree, User: bmcUser, Password: bmcPassword})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Close() })
	t.Setenv("BMC_USER", bmcUser)
	t.Setenv("BMC_PASSWORD", bmcPassword)
	state := t.TempDir()
	for _, c := range []struct {
		args  string
		code  int
		words []string
	}{
		{"sensors", exitPassed, []string{"CPU1 Temp", "45 Cel", "… 95", "OK"}},
		{"sel", exitPassed, []string{"2026-01-30 08:00:00  OK", "Uncorrectable ECC", "2 entries", " fast"}},
		{"sel --json", exitPassed, []string{`"bmc_clock": "`, `"skew_seconds": `}},
		{"console", exitFailed, []string{"names no serial console"}},
	} {
		code, out, errs := bmc(t, append([]string{sim.Addr(), "--state", state}, strings.Fields(c.args)...)...)
		if code != c.code {
			t.Errorf("%s: exit %d, want %d", c.args, code, c.code)
		}
		for _, w := range c.words {
			if !strings.Contains(out+errs, w) {
				t.Errorf("%s: %q is not in %s%s", c.args, w, out, errs)
			}
		}
		if first, second := strings.Index(out, "Power on"), strings.Index(out, "Uncorrectable"); c.args == "sel" && first > second {
			t.Errorf("the newer entry stands first: %s", out)
		}
	}
}
