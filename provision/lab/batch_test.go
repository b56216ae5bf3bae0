package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
)

func TestBatchOfTheLab(t *testing.T) {
	dir := t.TempDir()
	lib := profiles.Open()
	if _, err := lib.Profile(ProfileName); err != nil {
		t.Error(err)
	}
	if _, err := lib.Spec(SpecName); err != nil {
		t.Error(err)
	}
	for _, v := range Credentials() {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	if err := os.WriteFile(filepath.Join(dir, HostKeyFile), []byte("a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Status{Dir: dir, Image: "/cache/images/lab-1"}
	specs, err := Options{Dir: s.Dir, Machines: 2, Firmware: BIOS, GPUs: 3}.Specs()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range specs {
		s.Machines = append(s.Machines, MachineStatus{Name: p.Name, GPUs: p.GPUs, Serial: p.Serial(), BMC: p.BMCIP(), Host: p.HostIP(), MAC: p.HostMAC()})
	}
	for _, protocol := range []provision.Protocol{provision.OverRedfish, provision.OverIPMI} {
		text, err := s.Batch(BatchOptions{Name: "lab-1", Protocol: protocol, Method: provision.BootPXE, Load: "20 s", Machines: []string{"lab2"}, Console: protocol.IPMI(), Apart: protocol.IPMI()})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "batch.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := provision.LoadBatch(file, lib)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		m, ok := b.Find("lab2")
		if !ok || m.BMC != "10.77.1.12" || m.MAC != "52:54:00:77:00:02" || m.Boot.Method != provision.BootPXE || m.Login.Protocol != protocol || len(b.Machines) != 1 {
			t.Errorf("lab2: %+v", m)
		}
		if m.Boot.Console != protocol.IPMI() || (m.Rack == "lab2") != protocol.IPMI() {
			t.Errorf("lab2 over %s: console kept %t, rack %q", protocol, m.Boot.Console, m.Rack)
		}
	}
	s.Netboot = true
	if _, err := s.Batch(BatchOptions{Name: "lab-1", Protocol: provision.OverIPMI, Load: "20 s"}); err == nil {
		t.Error("two would serve on one port")
	}
}
