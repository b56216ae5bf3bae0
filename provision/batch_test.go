package provision

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// parse reads a batch with credentials that are there.
func parse(t *testing.T, text string) (*Batch, error) {
	t.Helper()
	t.Setenv("BMC_USER", "admin")
	t.Setenv("BMC_PASSWORD", planted)
	return ParseBatch("batch.yaml", []byte(text), profiles.Open())
}

const goodBatch = `
name: po4711-r12
profile: hgx-h100-8
spec: standard
workflow: qualify
customer: Example Ltd
defaults:
  bmc:  {user: "env:BMC_USER", password: "env:BMC_PASSWORD", tls: pin}
  ssh:  {user: root, port: 2222}
  boot: {image: burnin-live, method: auto}
racks: {R12: {kw: 32}}
limits: {parallel: 8, load: 10 min, poll: 2 s, tries: 3, bmc_reset: off}
expect: {drives: 8}
machines:
  - {name: r12u07, bmc: 10.0.12.7, serial: 0012345, rack: R12, u: 7, mac: "7C:C2:55:00:00:07", host: 10.0.13.7}
  - name: r12u15
    bmc: {addr: "bmc15.example.net:8443", tls: {mode: insecure, legacy: true}}
    profile: l40s-8
    rack: R12
    u: 15
    expect: {dimms: 24, dimm_size: 64 GiB}
    boot: {method: none}
    host: 10.0.13.15:22
`

func TestBatch(t *testing.T) {
	b, err := parse(t, goodBatch)
	if err != nil {
		t.Fatal(err)
	}
	first, second := b.Machines[0], b.Machines[1]
	for _, test := range []struct {
		what      string
		got, want any
	}{
		{"name", b.Name, "po4711-r12"},
		{"customer", b.Customer, "Example Ltd"},
		{"kW", b.Racks["R12"].KW, 32.0},
		{"parallel", b.Limits.Parallel, 8},
		{"tries", b.Limits.Tries, 3},
		{"no reset of BMCs", b.Limits.BMCReset, noReset},
		{"load", time.Duration(b.Limits.Load), 10 * time.Minute},
		{"poll", time.Duration(first.Poll), 2 * time.Second},
		{"serial as written", first.Serial, "0012345"},
		{"mac in lower case", first.MAC, "7c:c2:55:00:00:07"},
		{"default profile", first.Profile, "hgx-h100-8"},
		{"own profile", second.Profile, "l40s-8"},
		{"default method", first.Boot.Method, BootAuto},
		{"own method", second.Boot.Method, BootNone},
		{"image kept beside own method", second.Boot.Image, "burnin-live"},
		{"own address", second.BMC, "bmc15.example.net:8443"},
		{"own tls", second.Login.TLS, "insecure"},
		{"own old tls", second.Login.Legacy, true},
		{"no old tls by default", first.Login.Legacy, false},
		{"default user", second.Login.User, Ref("env:BMC_USER")},
		{"ssh port", first.SSH.Port, 2222},
		{"place", first.Where(), "R12 U07"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v, want %v", test.what, test.got, test.want)
		}
	}
	p, err := profiles.ParseResolved(b.Resolved[second.ProfileSHA256])
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Memory.DIMMs.Number(profiles.Count); got != 24 {
		t.Errorf("the order's 24 DIMMs are %v in the machine's profile", got)
	}
	if got := p.NVMe.Count.Number(profiles.Count); got != 8 {
		t.Errorf("the batch's 8 drives are %v in the machine's profile", got)
	}
	if first.LoadedWatts <= 3000 {
		t.Errorf("an HGX under load draws %v W", first.LoadedWatts)
	}
}

func TestBatchFromCSV(t *testing.T) {
	dir := t.TempDir()
	list := "name,bmc,serial,rack,u,host,bmc_user,bmc_password\nr1u07,10.0.12.7,S7,R1,U7,10.0.13.7,root," + planted + "\nr1u08,10.0.12.8,S8,R1,8,10.0.13.8,root,other\n"
	if err := os.WriteFile(filepath.Join(dir, "rack.csv"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "batch.yaml")
	if err := os.WriteFile(file, []byte("name: a\nprofile: a40-4\nmachines: {csv: rack.csv}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := LoadBatch(file, profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Machines) != 2 || b.Machines[0].U != 7 || b.Machines[1].Serial != "S8" {
		t.Fatalf("machines %+v", b.Machines)
	}
	got, err := b.Machines[0].Login.Password.ResolveFor(t.Context(), "r1u07")
	if err != nil || got != planted {
		t.Errorf("password from the list: %q, %v", got, err)
	}
	text, err := asJSON(b)
	if err != nil || strings.Contains(text, planted) {
		t.Errorf("the batch as it is journaled holds a secret (%v)", err)
	}
}

func TestBatchMistakes(t *testing.T) {
	const head = "name: a\nprofile: a40-4\n"
	for _, test := range []struct{ name, text, want string }{
		{"unknown key", "name: a\nprofle: a40-4\nmachines: [{name: m, bmc: 10.0.0.1, profile: a40-4}]\n", `batch.yaml:2:1: unknown key "profle" in the batch, did you mean "profile"?`},
		{"unknown key of a machine", head + "machines:\n  - {name: m, bmc: 10.0.0.1, sreial: X}\n", `batch.yaml:4:30: unknown key "sreial" in a machine, did you mean "serial"?`},
		{"no name", "profile: a40-4\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "the batch needs a name"},
		{"name that is no folder", "name: ../x\nprofile: a40-4\nmachines: [{name: m, bmc: 10.0.0.1}]\n", `batch.yaml:1:7: name "../x"`},
		{"no machines", head, "the batch has no machines"},
		{"machines empty", head + "machines: []\n", "machines: is empty"},
		{"unknown profile", "name: a\nprofile: hgx-h100\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "batch.yaml:2:10:"},
		{"unknown spec", head + "spec: standrad\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "batch.yaml:3:7:"},
		{"unknown workflow", head + "workflow: qualfy\nmachines: [{name: m, bmc: 10.0.0.1}]\n", `did you mean "qualify"?`},
		{"duplicate BMC", head + "machines:\n  - {name: m, bmc: 10.0.0.1}\n  - {name: n, bmc: \"10.0.0.1:443\"}\n", "batch.yaml:5:20: BMC 10.0.0.1:443 is already that of m"},
		{"duplicate name", head + "machines:\n  - {name: m, bmc: 10.0.0.1}\n  - {name: m, bmc: 10.0.0.2}\n", "batch.yaml:5:12: name m is already that of m"},
		{"duplicate serial", head + "machines:\n  - {name: m, bmc: 10.0.0.1, serial: s1}\n  - {name: n, bmc: 10.0.0.2, serial: S1}\n", "serial s1 is already that of m"},
		{"same place", head + "machines:\n  - {name: m, bmc: 10.0.0.1, rack: R1, u: 7}\n  - {name: n, bmc: 10.0.0.2, rack: R1, u: 7}\n", "place R1 U07 is already that of m"},
		{"wrong address", head + "machines: [{name: m, bmc: 10.0.0.300}]\n", `bmc "10.0.0.300": "10.0.0.300" is not an IPv4 address`},
		{"wrong port", head + "machines: [{name: m, bmc: \"10.0.0.3:99999\"}]\n", `port "99999" is not between 1 and 65535`},
		{"no address", head + "machines: [{name: m}]\n", "m has no bmc"},
		{"bad MAC", head + "machines: [{name: m, bmc: 10.0.0.1, mac: \"7c:c2:55\"}]\n", `mac "7c:c2:55": write it like`},
		{"bad unit", head + "expect: {dimm_size: 64 GX}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", `batch.yaml:3:21: unknown unit "GX"`},
		{"wrong dimension", head + "expect: {dimm_size: 64 W}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "batch.yaml:3:9:"},
		{"bad time", head + "limits: {load: 10 W}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", `"10 W" is not a time`},
		{"no tries", head + "limits: {tries: 0}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "batch.yaml:3:"},
		{"bad reset", head + "limits: {bmc_reset: never}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", `bmc_reset "never": write off, or how long`},
		{"credential not set", head + "defaults: {bmc: {password: \"env:RACKPROOF_NOT_SET\"}}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "bmc password of m: credential env:RACKPROOF_NOT_SET is not set"},
		{"a password written down", head + "defaults: {bmc: {password: " + planted + "}}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "batch.yaml:3:28: a credential must be a reference"},
		{"missing key file", head + "defaults: {ssh: {key: \"file:absent.pem\"}}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "no such file"},
		{"missing machine list", head + "machines: {csv: absent.csv}\n", "machine list:"},
		{"a rack that nobody stands in", head + "racks: {R13: {kw: 30}}\nmachines: [{name: m, bmc: 10.0.0.1, rack: R12}]\n", `no machine stands in rack "R13", did you mean "R12"?`},
		{"a PDU that nobody names", head + "pdus: {A1: {kw: 30, racks: [R1]}}\nmachines: [{name: m, bmc: 10.0.0.1, rack: R1, pdus: [A1, B1]}]\n", `m hangs on PDU "B1", which pdus: of the batch does not name, did you mean "A1"?`},
		{"a PDU without a budget", head + "pdus: {A1: {racks: [R1]}}\nmachines: [{name: m, bmc: 10.0.0.1, rack: R1}]\n", "PDU A1 has no kw"},
		{"a PDU of no machine", head + "pdus: {A1: {kw: 30}}\nmachines: [{name: m, bmc: 10.0.0.1, rack: R1}]\n", `no machine hangs on PDU "A1"`},
		{"a PDU of a rack that is not there", head + "pdus: {A1: {kw: 30, racks: [R2]}}\nmachines: [{name: m, bmc: 10.0.0.1, rack: R1}]\n", `PDU A1: no machine stands in rack "R2", did you mean "R1"?`},
		{"a PDU twice", head + "pdus: {A1: {kw: 30}}\nmachines: [{name: m, bmc: 10.0.0.1, pdus: [A1, A1]}]\n", "m names PDU A1 twice"},
		{"a PDU that is too weak for the loss of another", "name: a\nprofile: hgx-h100-8\npdus: {A1: {kw: 9, racks: [R1]}, B1: {kw: 9, racks: [R1]}}\nmachines: [{name: m, bmc: 10.0.0.1, rack: R1}]\n", "carries 10.2 kW when another one is lost, and it has 9.0 kW"},
		{"a rack that is too weak", "name: a\nprofile: hgx-h100-8\nracks: {R1: {kw: 5}}\nmachines: [{name: m, bmc: 10.0.0.1, rack: R1}]\n", "under load, and rack R1 has 5.0 kW"},
		{"boot method", head + "defaults: {boot: {method: uefi-htp}}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", `did you mean "uefi-http"?`},
		{"PXE to an address that changes", head + "netboot: {listen: \":8080\"}\ndefaults: {boot: {method: pxe, image: live}}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "state netboot.listen with address and port"},
		{"disk without host", head + "defaults: {boot: {method: disk}}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "m has no host"},
		{"old tls", head + "defaults: {bmc: {tls: {legacy: 1.0}}}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "want true or false"},
		{"tls", head + "defaults: {bmc: {tls: no}}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "choose pin, ca:FILE or insecure"},
		{"a network instead of an address", head + "machines: [{name: m, bmc: 10.0.0.1, bmc_network: {address: 10.0.1.0/24}}]\n", "batch.yaml:3:50: m: bmc_network: 10.0.1.0/24 is the network"},
		{"an address without its prefix", head + "machines: [{name: m, bmc: 10.0.0.1, bmc_network: {address: 10.0.1.1}}]\n", "want an IPv4 address with its prefix length"},
		{"a gateway elsewhere", head + "defaults: {bmc_network: {gateway: 10.0.2.1}}\nmachines: [{name: m, bmc: 10.0.0.1, bmc_network: {address: 10.0.1.1/24}}]\n", "gateway 10.0.2.1 is not in the network of 10.0.1.1/24"},
		{"address and DHCP", head + "machines: [{name: m, bmc: 10.0.0.1, bmc_network: {address: 10.0.1.1/24, dhcp: true}}]\n", "not both"},
		{"a VLAN that there is not", head + "machines: [{name: m, bmc: 10.0.0.1, bmc_network: {vlan: 4095}}]\n", "1 to 4094"},
		{"a BMC where another is", head + "machines:\n  - {name: m, bmc: 10.0.0.1}\n  - {name: n, bmc: 10.0.0.2, bmc_network: {address: 10.0.0.1/24}}\n", "n: bmc_network: 10.0.0.1 is the address of m"},
		{"two BMCs to one place", head + "machines:\n  - {name: m, bmc: 10.0.0.1, bmc_network: {address: 10.0.0.3/24}}\n  - {name: n, bmc: 10.0.0.2, bmc_network: {address: 10.0.0.3/24}}\n", "n: bmc_network: 10.0.0.3 is the address of m"},
		{"network over IPMI", head + "machines: [{name: m, bmc: {addr: 10.0.0.1, protocol: ipmi}, bmc_network: {vlan: 0}}]\n", "over Redfish alone"},
		{"a name that is none", head + "machines: [{name: m, bmc: 10.0.0.1, bmc_network: {ntp: [a_b]}}]\n", "neither an IP address nor a host name"},
		{"a cable without an end", head + "machines: [{name: m, bmc: 10.0.0.1, cables: {ens1f0np0: ''}}]\n", "batch.yaml:3:"},
		{"instances that no profile wants", head + "machines: [{name: m, bmc: 10.0.0.1, mig_test: true}]\n", "does not say which instances are made and how they are left"},
		{"disks that no spec has written", head + "machines: [{name: m, bmc: 10.0.0.1, write_disks: [S1]}]\n", "batch.yaml:3:50: write_disks: spec standard does not ask for writes"},
		{"a key twice", head + "limits: {parallel: 1, parallel: 2}\nmachines: [{name: m, bmc: 10.0.0.1}]\n", "batch.yaml:3:"},
		{"not YAML", "name: [\n", "batch.yaml:1:"},
		{"empty", "", "batch.yaml: want one YAML document"},
		{"a list", "- a\n", "the batch must be keys and values"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(t, test.text)
			if err == nil {
				t.Fatal("taken without complaint")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("says\n%v\nwant it to say\n%s", err, test.want)
			}
			if strings.Contains(err.Error(), planted) {
				t.Errorf("the error repeats a secret: %v", err)
			}
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "batch.yaml") {
					t.Errorf("a line without its place: %q", line)
				}
			}
		})
	}
}

// TestBMCNetworkInTheBatch: a machine's keys lie over the defaults, and an address is
// static.
func TestBMCNetworkInTheBatch(t *testing.T) {
	b, err := parse(t, "name: a\nprofile: a40-4\ndefaults: {bmc_network: {gateway: 10.0.1.1, dns: 10.0.1.2, vlan: 12}}\n"+
		"machines:\n  - {name: m, bmc: \"10.0.0.1:8443\", bmc_network: {address: 10.0.1.7/24, vlan: 0, ntp: [ntp.example], host_name: m-bmc}}\n  - {name: n, bmc: 10.0.0.2}\n")
	if err != nil {
		t.Fatal(err)
	}
	m, n := b.Machines[0].Network, b.Machines[1].Network
	if m.Address.String() != "10.0.1.7/24" || m.Gateway.String() != "10.0.1.1" || m.DHCP == nil || *m.DHCP || *m.VLAN != 0 ||
		len(m.DNS) != 1 || len(m.NTP) != 1 || m.HostName != "m-bmc" || b.Machines[0].movedAddr() != "10.0.1.7:8443" {
		t.Errorf("%+v moves to %s", m, b.Machines[0].movedAddr())
	}
	if *n.VLAN != 12 || n.DHCP != nil || n.Address.IsValid() || b.Machines[1].movedAddr() != "10.0.0.2" {
		t.Errorf("%+v", n)
	}
}

// TestBMCNetworkFromCSV: what differs stands in the list, the rest in the defaults.
func TestBMCNetworkFromCSV(t *testing.T) {
	dir := t.TempDir()
	list := "name,bmc,bmc_network.address,bmc_network.host_name\nm1,10.0.0.1,10.0.1.1/24,m1-bmc\nm2,10.0.0.2,,\nm3,10.0.0.3,10.0.1.3,m_3\n"
	if err := os.WriteFile(filepath.Join(dir, "rack.csv"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "name: a\nprofile: a40-4\ndefaults: {bmc_network: {gateway: 10.0.1.254}}\nmachines: {csv: " + filepath.Join(dir, "rack.csv") + "}\n"
	_, err := parse(t, text)
	if err == nil || !strings.Contains(err.Error(), `rack.csv:4:13: "10.0.1.3": want an IPv4 address`) || !strings.Contains(err.Error(), "rack.csv:4:22: ") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rack.csv"), []byte(list[:strings.Index(list, "m3,")]), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := parse(t, text)
	if err != nil {
		t.Fatal(err)
	}
	m1, m2 := b.Machines[0], b.Machines[1]
	if m1.movedAddr() != "10.0.1.1" || m1.Network.HostName != "m1-bmc" || m1.Network.Gateway.String() != "10.0.1.254" || m2.movedAddr() != "10.0.0.2" || m2.Network.HostName != "" {
		t.Errorf("%+v, %+v", m1.Network, m2.Network)
	}
}

func TestBatchReportsEveryMistakeAtOnce(t *testing.T) {
	_, err := parse(t, "name: a\nprofile: a40-4\nbogus: 1\nmachines:\n  - {name: m, bmc: 10.0.0.1, u: x}\n  - {name: n, bmc: 10.0.0.1}\n  - {bmc: bad_host}\n")
	var p profiles.Problems
	if !errors.As(err, &p) {
		t.Fatalf("error %v", err)
	}
	if len(p) != 5 {
		t.Errorf("%d mistakes, want 5:\n%v", len(p), err)
	}
	for i := 1; i < len(p); i++ {
		if p[i].Pos.Line < p[i-1].Pos.Line {
			t.Errorf("not in the order of the file:\n%v", err)
		}
	}
}

func FuzzParseBatch(f *testing.F) {
	f.Add([]byte(goodBatch))
	f.Add([]byte("name: a\nmachines: {csv: x}\n"))
	f.Add([]byte("a: &b [*b]\n"))
	f.Add([]byte("name: a\nracks: {R1: {kw: 1e99}}\nexpect: {dimms: -1}\nmachines: [{}, 7, [], {name: {}}]\n"))
	lib := profiles.Open()
	f.Fuzz(func(t *testing.T, b []byte) {
		batch, err := ParseBatch("f.yaml", b, lib)
		if (batch == nil) == (err == nil) {
			t.Fatalf("batch %v, error %v", batch, err)
		}
		if err != nil {
			return
		}
		for _, m := range batch.Machines {
			if m.Name == "" || m.BMC == "" || len(batch.Resolved[m.ProfileSHA256]) == 0 {
				t.Errorf("a batch was taken with machine %+v", m)
			}
		}
	})
}
