package lab

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/rackproof/rackproof/provision/netboot"
)

// bootLimit is many times what a boot takes under TCG on two idle cores.
const bootLimit = 7 * time.Minute

// TestImageBootsToSSH makes the image, or takes it from the cache, and starts it in
// QEMU with a kernel line as netboot writes it. The machine fetches its seed, says
// that it is up, and lets in who holds the key, with the host key of the ticket.
func TestImageBootsToSSH(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: boots a machine")
	}
	for _, tool := range []string{"qemu-system-x86_64", "apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v: install qemu-system-x86, on Debian", err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), bootLimit)
	defer cancel()
	dir, err := BuildImage(ctx, ImageOptions{Cache: os.Getenv("RACKPROOF_LAB_CACHE"), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	signer, authorized := loginKey(t)
	server := &netboot.Server{Addr: "127.0.0.1:0", State: filepath.Join(t.TempDir(), "netboot.json"), Images: filepath.Dir(dir)}
	if err := server.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	if !server.HasImage(filepath.Base(dir)) {
		t.Fatalf("%s is no image to netboot", dir)
	}
	ticket, err := server.Ticket("m1", 1, filepath.Base(dir), authorized)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	address := startDirect(ctx, t, dir, fmt.Sprintf("rackproof.seed=http://10.0.2.2:%d/b/%s/seed", server.Port(), ticket.Token))
	client := waitLogin(ctx, t, address, signer, ticket.HostKeyPublic)
	t.Logf("SSH after %s", time.Since(began).Round(100*time.Millisecond))
	for _, c := range imageQuestions {
		if out := runSSH(t, client, c.line); !strings.Contains(out, c.want) {
			t.Errorf("%s\nprints %q, want %q in it", c.line, out, c.want)
		}
	}
	for now, _ := server.Find("m1", 1); now.Up == nil; now, _ = server.Find("m1", 1) {
		if !pause(ctx, 200*time.Millisecond) {
			t.Fatal("the host never said that it is up")
		}
	}
	if now, _ := server.Find("m1", 1); now.Up.UUID != machineUUID || now.Up.Address != "10.0.2.15" {
		t.Errorf("the host says it is %+v", now.Up)
	}
}

const machineUUID = "4c4c4544-0000-2010-8020-000000000009"

// imageQuestions are asked of the booted image.
var imageQuestions = []struct{ line, want string }{
	{`for t in setsid awk cmp timeout flock sha256sum nice lspci setpci dmidecode nvme smartctl fio stress-ng stressapptest ipmitool ras-mc-ctl lscpu lsblk ethtool ip dmesg jq numactl efibootmgr nvidia-smi; do command -v $t >/dev/null || echo "no $t"; done; echo end`, "end\n"},
	{`date +%3N | grep -c '^[0-9][0-9][0-9]$'`, "1\n"},
	{"ras-mc-ctl --errors", "No MCE errors."},
	{"fio --version && stress-ng --version && lspci --version && jq --version", "fio-"},
	{"sh -c 'lsblk -J -b && lscpu -J' | jq -s length", "2\n"},
	{"cat /etc/rackproof/stand-ins", "nvidia-smi\n"},
	{"sha256sum /init | wc -w", "2\n"},
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func loginKey(t *testing.T) (ssh.Signer, string) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
}

// startDirect starts QEMU without firmware's part, with a network of its own, and
// returns where the machine's SSH answers.
func startDirect(ctx context.Context, t *testing.T, dir, line string) string {
	t.Helper()
	port, err := freePort(ctx)
	if err != nil {
		t.Fatal(err)
	}
	serial := filepath.Join(t.TempDir(), "serial.log")
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "max", "-smp", "2", "-m", "2048",
		"-nodefaults", "-display", "none", "-uuid", machineUUID, "-serial", "file:"+serial,
		"-netdev", fmt.Sprintf("user,id=n0,hostfwd=tcp:127.0.0.1:%d-:22", port), "-device", "virtio-net-pci,netdev=n0",
		"-kernel", filepath.Join(dir, "vmlinuz"), "-initrd", filepath.Join(dir, "initrd"), "-append", strings.TrimSpace(kernelLine)+" quiet "+line)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			console, _ := os.ReadFile(serial)
			t.Logf("QEMU: %s\nconsole:\n%s", said.String(), console)
		}
	})
	return fmt.Sprintf("127.0.0.1:%d", port)
}

func freePort(ctx context.Context) (int, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

// waitLogin logs in as root, with the one host key that may answer.
func waitLogin(ctx context.Context, t *testing.T, address string, signer ssh.Signer, hostKey string) *ssh.Client {
	t.Helper()
	key, err := netboot.HostKey(hostKey)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: ssh.FixedHostKey(key), Timeout: 10 * time.Second,
	}
	for {
		client, err := ssh.Dial("tcp", address, config)
		if err == nil {
			t.Cleanup(func() { _ = client.Close() })
			return client
		}
		if !pause(ctx, 500*time.Millisecond) {
			t.Fatalf("no login in %s: %v", bootLimit, err)
		}
	}
}

func runSSH(t *testing.T, client *ssh.Client, line string) string {
	t.Helper()
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	out, err := session.CombinedOutput(line)
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return string(out)
}
