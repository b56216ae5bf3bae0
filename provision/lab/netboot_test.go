package lab

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/rackproof/rackproof/provision/netboot"
	"github.com/rackproof/rackproof/redfish"
)

// TestNetboots brings a machine of each firmware up in every way that its BMCs can
// be told.
func TestNetboots(t *testing.T) {
	for firmware, ways := range map[Firmware][]string{BIOS: {"pxe"}, UEFI: {"pxe", "http", "cd", "disk"}} {
		for _, way := range ways {
			t.Run(string(firmware)+"/"+way, func(t *testing.T) {
				c := newLab(t, Options{Machines: 1, Firmware: firmware, GPUs: 2})
				inNetwork(t, c, "TestInsideNetboots/"+way)
			})
		}
	}
}

// netbooter drives one machine through boots of rackproof's own server.
type netbooter struct {
	both
	server *netboot.Server
	image  string
	signer ssh.Signer
	public string
}

func TestInsideNetboots(t *testing.T) {
	dir := os.Getenv(insideVariable)
	if dir == "" {
		t.Skip("runs inside a lab's network, by TestNetboots")
	}
	c, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	n := &netbooter{both: *openBoth(t, c, NewSpec(1, dir))}
	image, err := BuildImage(t.Context(), ImageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n.image = filepath.Base(image)
	n.signer, n.public = loginKey(t)
	n.server = &netboot.Server{Addr: netbootAddress, Images: filepath.Dir(image), State: filepath.Join(t.TempDir(), "netboot.json")}
	if err := n.server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.server.Close() })
	t.Run("pxe", n.pxe)
	t.Run("http", n.http)
	t.Run("cd", n.cd)
	t.Run("disk", n.disk)
}

// ticket is that of the boot.
func (n *netbooter) ticket(t *testing.T) netboot.Ticket {
	t.Helper()
	ticket, err := n.server.Ticket(n.spec.Name, 1, n.image, n.public)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// pxe goes by IPMI, which knows no more than the word.
func (n *netbooter) pxe(t *testing.T) {
	ticket := n.ticket(t)
	if err := n.server.ExpectPXE(ticket.Token, n.spec.HostMAC()); err != nil {
		t.Fatal(err)
	}
	if err := n.ipmi.SetBoot(t.Context(), redfish.Boot{Target: "Pxe", Enabled: "Once"}); err != nil {
		t.Fatal(err)
	}
	client := n.up(t, ticket)
	for _, q := range labQuestions {
		if out := runSSH(t, client, q.line); !strings.HasSuffix(out, q.want) {
			t.Errorf("%s\nprints %q, want %q at its end", q.line, out, q.want)
		}
	}
	if err := n.redfish.SetPower(t.Context(), redfish.PowerOff); err != nil { // the button
		t.Fatal(err)
	}
	n.off(t)
}

// labQuestions are about what the lab's hardware adds.
var labQuestions = []struct{ line, want string }{
	{"cat /sys/devices/system/edac/mc/mc0/mc_name", "IE31200\n"},
	{"ras-mc-ctl --error-count >/dev/null && ras-mc-ctl --errors | head -n 1", "No Memory errors.\n"},
	{"ipmitool lan print 1 | grep -i 'mac address'", "52:54:00:bc:00:01\n"},
	{"nvme list -o json | jq -r '.Devices[].SerialNumber' | sort | xargs", "NVME10 NVME11\n"},
	{"lsblk -J -b -o NAME,SERIAL,TRAN | jq -r '.blockdevices[] | select(.tran == \"nvme\").serial' | sort | xargs", "NVME10 NVME11\n"},
	{"nvidia-smi -L | wc -l", "2\n"},
	{"nvidia-smi --query-gpu=serial,pcie.link.width.current --format=csv,noheader", NewSpec(1, "").GPUSerial(1) + ", 16\n"},
	{"smartctl -j -a /dev/nvme0 | jq .smartctl.exit_status", "0\n"},
	{"dmidecode -s system-serial-number", "SN000001\n"},
	{"dmesg | grep -iE 'segfault|call trace|BUG:|oom'; echo end", "end\n"},
}

// http gives the firmware a URI.
func (n *netbooter) http(t *testing.T) {
	ticket := n.ticket(t)
	uri := n.server.URL(ProvisioningAddress, ticket.Token)
	if !strings.HasSuffix(uri, "/boot.efi") {
		t.Fatalf("URI %s", uri)
	}
	if err := n.redfish.SetBoot(t.Context(), redfish.Boot{Target: "UefiHttp", Enabled: "Once", Mode: "UEFI", HTTPBootURI: uri}); err != nil {
		t.Fatal(err)
	}
	client := n.up(t, ticket)
	if out := runSSH(t, client, "efibootmgr | grep -i BootCurrent; cat /proc/cmdline"); !strings.Contains(out, "7AC0") || !strings.Contains(out, ticket.Token) {
		t.Errorf("the host booted otherwise: %s", out)
	}
	n.powerOff(t)
}

// cd inserts the same boot into the virtual drive.
func (n *netbooter) cd(t *testing.T) {
	ticket := n.ticket(t)
	if err := n.server.FaceHost(ticket.Token, ProvisioningAddress); err != nil {
		t.Fatal(err)
	}
	slot, err := n.redfish.InsertMedia(t.Context(), n.server.MediaURL(ProvisioningAddress, ticket.Token))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.redfish.SetBoot(t.Context(), redfish.Boot{Target: "Cd", Enabled: "Once", Mode: "UEFI"}); err != nil {
		t.Fatal(err)
	}
	n.up(t, ticket)
	n.powerOff(t)
	if err := n.redfish.EjectMedia(t.Context(), slot); err != nil {
		t.Fatal(err)
	}
}

// disk boots what was written to the first drive: the image of the CD has the
// partition table of a stick.
func (n *netbooter) disk(t *testing.T) {
	ticket := n.ticket(t)
	if err := n.server.FaceHost(ticket.Token, ProvisioningAddress); err != nil {
		t.Fatal(err)
	}
	fetched := filepath.Join(t.TempDir(), "image")
	if err := fetch(t.Context(), n.server.MediaURL(ProvisioningAddress, ticket.Token), fetched); err != nil {
		t.Fatal(err)
	}
	drive := n.spec.Path("nvme0.img")
	if out, err := exec.CommandContext(t.Context(), "dd", "if="+fetched, "of="+drive, "bs=1M", "conv=notrunc").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	n.up(t, ticket) // without a choice: the firmware's own order
	n.powerOff(t)
}

// up switches the machine on and logs in.
func (n *netbooter) up(t *testing.T, ticket netboot.Ticket) *ssh.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bootLimit)
	defer cancel()
	began := time.Now()
	if err := n.ipmi.SetPower(ctx, redfish.PowerOn); err != nil {
		t.Fatal(err)
	}
	var fetched time.Duration
	for {
		now, _ := n.server.Find(ticket.Machine, ticket.Attempt)
		if fetched == 0 && !now.Fetched.IsZero() {
			fetched = now.Fetched.Sub(began)
		}
		if now.Up != nil {
			if now.Up.UUID != n.spec.UUID() || now.Up.Serial != n.spec.Serial() || now.Up.Address != n.spec.HostIP() {
				t.Errorf("the host says it is %+v", now.Up)
			}
			break
		}
		if !pause(ctx, 100*time.Millisecond) {
			t.Fatalf("the host never said that it is up; console:\n%s", n.lastLines(t))
		}
	}
	client := waitLogin(ctx, t, net.JoinHostPort(n.spec.HostIP(), "22"), n.signer, ticket.HostKeyPublic)
	t.Logf("power on to boot fetched %.1f s, to SSH %.1f s", fetched.Seconds(), time.Since(began).Seconds())
	return client
}

func (n *netbooter) lastLines(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(n.spec.Path("serial.log"))
	if err != nil {
		return []byte(err.Error())
	}
	lines := bytes.Split(b, []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-40):], []byte("\n"))
}

func (n *netbooter) powerOff(t *testing.T) {
	t.Helper()
	if err := n.ipmi.SetPower(t.Context(), redfish.ForceOff); err != nil {
		t.Fatal(err)
	}
	n.off(t)
}

// off waits until the machine is off.
func (n *netbooter) off(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		state, err := n.ipmi.Power(ctx)
		if err == nil && state == redfish.Off {
			return
		}
		if !pause(ctx, 200*time.Millisecond) {
			t.Fatalf("power %s, %v; want it off", state, err)
		}
	}
}
