package provision

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/redfish"
)

var (
	fileSafe   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	macForm    = regexp.MustCompile(`^([0-9a-f]{2}:){5}[0-9a-f]{2}$`)
	uuidForm   = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)
	hostForm   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
)

// check looks at each machine, then at all of them together.
func (l *loader) check() {
	refs := map[string]bool{}
	for i := range l.batch.Machines {
		m, row := &l.batch.Machines[i], l.rows[i]
		l.checkMachine(m, row)
		l.resolve(m, row)
		l.checkRefs(m, row, refs)
	}
	l.unique("name", "name", func(m Machine) string { return m.Name })
	l.unique("bmc", "BMC", func(m Machine) string {
		if m.BMC == "" {
			return ""
		}
		return strings.ToLower(redfish.Config{Addr: hostPort(m.BMC, 443), Via: m.Via}.Key())
	})
	l.freeAddresses()
	l.unique("serial", "serial", func(m Machine) string { return strings.ToLower(m.Serial) })
	l.unique("uuid", "UUID", func(m Machine) string { return m.UUID })
	l.unique("mac", "MAC", func(m Machine) string { return m.MAC })
	l.unique("u", "place", func(m Machine) string {
		if m.U == 0 {
			return ""
		}
		return m.Where()
	})
	l.wipedOnce()
	l.checkPower()
}

// unique reports a value that two machines have.
func (l *loader) unique(key, what string, value func(Machine) string) {
	first := map[string]string{}
	for i, m := range l.batch.Machines {
		v := value(m)
		if v == "" {
			continue
		}
		if other, ok := first[v]; ok {
			l.add(l.rows[i].at(key), "%s %s is already that of %s", what, v, other)
			continue
		}
		first[v] = or(m.Name, "the machine before")
	}
}

func (l *loader) checkMachine(m *Machine, row rowInfo) {
	switch {
	case m.Name == "":
		l.add(row.pos, "a machine has no name")
	case !fileSafe.MatchString(m.Name):
		l.add(row.at("name"), "machine name %q: use letters, digits, '.', '-' and '_', at most 64; it names a folder", m.Name)
	}
	if m.MAC != "" && !macForm.MatchString(m.MAC) {
		l.add(row.at("mac"), "mac %q: write it like 7c:c2:55:00:00:07", m.MAC)
	}
	if m.UUID != "" && !uuidForm.MatchString(m.UUID) {
		l.add(row.at("uuid"), "uuid %q is no UUID", m.UUID)
	}
	if m.U > 60 {
		l.add(row.at("u"), "u %d: racks have 42 to 58 units", m.U)
	}
	l.checkReach(m, row)
	l.checkNetwork(m, row)
}

// checkReach looks at how BMC and host are reached.
func (l *loader) checkReach(m *Machine, row rowInfo) {
	if m.BMC == "" {
		l.add(row.pos, "%s has no bmc: give its address", or(m.Name, "a machine"))
	} else if err := checkAddress(m.BMC); err != nil {
		l.add(row.at("bmc"), "bmc %q: %v", m.BMC, err)
	}
	if m.Host != "" {
		if err := checkAddress(m.Host); err != nil {
			l.add(row.at("host"), "host %q: %v", m.Host, err)
		}
	} else if m.Boot.Method == BootDisk || m.Boot.Method == BootNone {
		l.add(row.pos, "%s has no host: boot method %s needs the address where its SSH answers", m.Name, m.Boot.Method)
	}
	if m.Boot.Method.fromUs() && m.Boot.Image == "" {
		l.add(row.pos, "%s boots by %s and names no boot.image", m.Name, m.Boot.Method)
	}
	if m.Login.SHA256 != "" && m.Login.TLS != string(redfish.Pin) {
		l.add(row.at("bmc"), "%s states the certificate's sha256 with tls mode %s: it counts with mode pin alone", m.Name, m.Login.TLS)
	}
	l.checkVia(m, row)
	if m.Boot.Method == BootPXE && !l.batch.Netboot.fixed() {
		l.add(row.pos, "%s boots by pxe: state netboot.listen with address and port; your DHCP server must hand out http://ADDRESS:PORT/pxe.ipxe to iPXE", m.Name)
	}
}

// checkVia looks at what does not go through a bastion.
func (l *loader) checkVia(m *Machine, row rowInfo) {
	if m.Via != "" && m.Login.Protocol.IPMI() {
		l.add(row.pos, "%s is reached via %s over IPMI, which is UDP and goes through no SSH: use bmc.protocol redfish, or run rackproof beside the BMCs", m.Name, m.Via)
	}
	if m.Via != "" && m.Boot.Method.fromUs() && !l.batch.Netboot.fixed() {
		l.add(row.pos, "%s is reached via %s and boots by %s: images do not go through the bastion; state netboot.listen with an address of ours that BMC and host reach, or choose boot.method disk or none", m.Name, m.Via, m.Boot.Method)
	}
}

// checkAddress takes an IP address or a host name, with or without a port.
func checkAddress(addr string) error {
	host := addr
	if h, port, err := net.SplitHostPort(addr); err == nil {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("port %q is not between 1 and 65535", port)
		}
		host = h
	}
	host = strings.Trim(host, "[]")
	if net.ParseIP(host) != nil {
		return nil
	}
	if ip, zone, ok := strings.Cut(host, "%"); ok && zone != "" && net.ParseIP(ip) != nil {
		return nil
	}
	if strings.Trim(host, "0123456789.") == "" {
		return fmt.Errorf("%q is not an IPv4 address", host)
	}
	if !hostForm.MatchString(host) || len(host) > 253 {
		return fmt.Errorf("neither an IP address nor a host name")
	}
	return nil
}

// resolve finds the machine's profile and spec, with what the order expects laid
// over, and keeps their bytes in the batch.
func (l *loader) resolve(m *Machine, row rowInfo) {
	if m.Profile == "" {
		l.add(row.pos, "%s has no profile: name one in the batch or at the machine; `rackproof profile list` shows them", or(m.Name, "a machine"))
	} else if p := l.profile(m, row); p != nil {
		m.ProfileSHA256 = p.SHA256()
		l.batch.Resolved[m.ProfileSHA256] = p.Bytes()
		m.Minutes = p.Minutes.BurnIn
		if p.Power.LoadedWatts.Set() {
			m.LoadedWatts = p.Power.LoadedWatts.Number(profiles.Watt)
		}
		if m.MIGTest && p.GPU.MIGLeave == "" {
			l.add(row.pos, "mig_test: profile %s does not say which instances are made and how they are left; it would say gpu: {mig_layout: 7x 1g.10gb, mig_leave: removed}", m.Profile)
		}
	}
	spec, known := l.specs[m.Spec]
	if !known {
		var err error
		if spec, err = l.lib.Spec(m.Spec); err != nil {
			l.add(l.valuePos(row, "spec"), "%v", err)
			return
		}
		l.specs[m.Spec] = spec
	}
	if len(m.WriteDisks) > 0 && spec.Loads.NVMe != profiles.NVMeWrite {
		l.add(row.at("write_disks"), "write_disks: spec %s does not ask for writes; it would say loads: {nvme: write}", m.Spec)
	}
	m.SpecSHA256 = spec.SHA256()
	l.batch.Resolved[m.SpecSHA256] = spec.Bytes()
}

func (l *loader) profile(m *Machine, row rowInfo) *profiles.Profile {
	for _, e := range []placed{l.expct, row.expect} {
		if e.expect != (profiles.Expect{}) {
			m.Expect = e.expect
		}
	}
	// A hall is of few kinds, and to read a profile takes its time.
	key := fmt.Sprintf("%s %q %q", m.Profile, words(l.expct.expect), words(row.expect.expect))
	p := l.profiles[key]
	if p == nil {
		if p = l.expected(m, row); p == nil {
			return nil
		}
		l.profiles[key] = p
	}
	return l.newestFirmware(m, row, p)
}

// expected is the machine's profile with what the order expects laid over it.
func (l *loader) expected(m *Machine, row rowInfo) *profiles.Profile {
	p, err := l.lib.Profile(m.Profile)
	if err != nil {
		l.add(l.valuePos(row, "profile"), "%v", err)
		return nil
	}
	for _, e := range []placed{l.expct, row.expect} {
		if e.expect == (profiles.Expect{}) {
			continue
		}
		if p, err = p.WithExpect(e.expect, e.pos); err != nil {
			l.add(e.pos, "expect: %v", err)
			return nil
		}
	}
	return p
}

// words tells two expectations apart.
func words(e profiles.Expect) string {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // numbers and units
	}
	return string(b)
}

// newestFirmware states the versions of the batch's firmware folder as limits.
func (l *loader) newestFirmware(m *Machine, row rowInfo, p *profiles.Profile) *profiles.Profile {
	if l.batch.Firmware.Folder == "" {
		return p
	}
	images, known := l.images[m.Profile]
	if !known {
		var err error
		if images, err = FirmwareImages(l.batch.Firmware.Folder, m.Profile); err != nil {
			l.add(l.top["firmware"], "%v", err)
		}
		l.images[m.Profile] = images
	}
	if len(images) == 0 {
		return p
	}
	versions := map[string]string{}
	for component, image := range images {
		versions[component] = image.Version
	}
	with, err := p.WithFirmware(versions, l.valuePos(row, "firmware"))
	if err != nil {
		l.add(l.top["firmware"], "%v", err)
		return nil
	}
	m.Images = images
	return with
}

// valuePos is where a value stands that may be that of the machine or of the
// batch.
func (l *loader) valuePos(row rowInfo, key string) profiles.Position {
	if p, ok := row.keys[key]; ok {
		return p
	}
	if p, ok := l.top[key]; ok {
		return p
	}
	return row.pos
}

// checkRefs reports credentials that cannot resolve, each once.
func (l *loader) checkRefs(m *Machine, row rowInfo, seen map[string]bool) {
	for _, c := range []struct {
		what string
		ref  Ref
	}{{"bmc user", m.Login.User}, {"bmc password", m.Login.Password}, {"new bmc password", m.Login.New}, {"ssh key", m.SSH.Key}} {
		key := string(c.ref)
		if strings.HasPrefix(key, "csv:") {
			key += "@" + m.Name
		}
		if c.ref == "" || seen[key] {
			continue
		}
		seen[key] = true
		check := c.ref.Check
		if l.remote {
			check = func(string) error { return c.ref.checkRemote() }
		}
		if err := check(m.Name); err != nil {
			l.add(row.pos, "%s of %s: %v", c.what, m.Name, err)
		}
	}
	if file, ok := cutCA(m.Login.TLS); ok && !seen[file] && !l.remote {
		seen[file] = true
		if _, err := os.Stat(file); err != nil {
			l.add(row.pos, "tls of %s: %v", m.Name, err)
		}
	}
}

func goodTLS(s string) bool {
	_, ca := cutCA(s)
	return s == "pin" || s == "insecure" || ca
}

func cutCA(s string) (file string, ok bool) {
	file, ok = strings.CutPrefix(s, "ca:")
	return file, ok && file != ""
}
