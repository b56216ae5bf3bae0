package lab

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// need is a program or file of a Debian package that the lab is built from.
type need struct{ what, debian string }

func needs() []need {
	return []need{
		{qemuBinary, "qemu-system-x86"},
		{ovmfCode, "ovmf"},
		{"/usr/lib/ipxe/undionly.kpxe", "ipxe"},
		{"/usr/lib/ipxe/qemu/efi-virtio.rom", "ipxe-qemu"},
		{"ipmi_sim", "openipmi"},
		{"dnsmasq", "dnsmasq-base"},
		{"ip", "iproute2"},
		{"ssh-keygen", "openssh-client"},
	}
}

// Check says what this computer lacks for a lab, with the Debian packages to
// install. A nil error means that everything is there.
func Check() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the lab cannot run here: it needs Linux, this is %s", runtime.GOOS)
	}
	var packages, problems []string
	for _, n := range needs() {
		if !present(n.what) && !slices.Contains(packages, n.debian) {
			packages = append(packages, n.debian)
		}
	}
	if len(packages) > 0 {
		problems = append(problems, "missing packages: apt-get install -y --no-install-recommends "+strings.Join(packages, " "))
	}
	if os.Geteuid() != 0 {
		problems = append(problems, "not root: namespaces, bridges and taps need it")
	}
	if f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err != nil {
		problems = append(problems, fmt.Sprintf("no taps: %v (modprobe tun, or give the container /dev/net/tun)", err))
	} else {
		_ = f.Close()
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("the lab cannot run here: %s", strings.Join(problems, "; "))
}

// present finds a file by its path, or a program in PATH and where Debian has
// those of the administrator.
func present(what string) bool {
	if strings.HasPrefix(what, "/") {
		_, err := os.Stat(what)
		return err == nil
	}
	if _, err := exec.LookPath(what); err == nil {
		return true
	}
	_, err := os.Stat("/usr/sbin/" + what)
	return err == nil
}
