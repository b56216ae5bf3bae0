package lab

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
)

// builderVersion goes into the hash of the recipe: raise it when the same recipe
// makes another image.
const builderVersion = 1

// multiarch is the folder of libraries of the only architecture that the lab has.
const multiarch = "usr/lib/x86_64-linux-gnu"

// packagePick says what the image takes of a package.
type packagePick struct {
	Package  string
	Programs []string // by name, looked up in usr/bin and usr/sbin
	Files    []string // further files, as patterns of path.Match; a folder is taken whole
}

// coreutils are the programs taken of that package.
const coreutils = "base64 basename cat chgrp chmod chown comm cp cut date dd df dirname du echo env expand expr false fold head id " +
	"install join link ln ls md5sum mkdir mkfifo mknod mktemp mv nice nl nohup nproc numfmt od paste printenv printf pwd readlink " +
	"realpath rm rmdir seq sha1sum sha256sum sha512sum shuf sleep sort split stat stdbuf stty sum sync tac tail tee test timeout " +
	"touch tr true truncate tsort tty uname uniq unlink wc who whoami yes"

// imagePicks is what is in the image. What they are linked with comes along.
var imagePicks = []packagePick{
	// A host as burn-in expects one: its half on the node (burnin/nodeside.sh) and the probes.
	{Package: "bash", Programs: []string{"bash"}},
	{Package: "dash", Programs: []string{"dash"}},
	{Package: "coreutils", Programs: strings.Fields(coreutils)},
	{Package: "util-linux", Programs: []string{"dmesg", "flock", "lsblk", "lscpu", "setsid", "taskset", "blkdiscard", "findmnt", "ionice", "partx"}},
	{Package: "mount", Programs: []string{"mount", "umount", "losetup"}},
	{Package: "procps", Programs: []string{"ps", "pgrep", "pkill", "free", "top", "uptime", "sysctl"}},
	{Package: "mawk", Programs: []string{"mawk"}},
	{Package: "grep", Programs: []string{"grep"}},
	{Package: "sed", Programs: []string{"sed"}},
	{Package: "findutils", Programs: []string{"find", "xargs"}},
	{Package: "diffutils", Programs: []string{"cmp", "diff"}},
	{Package: "gzip", Programs: []string{"gzip"}},
	{Package: "tar", Programs: []string{"tar"}},
	{Package: "libc-bin", Programs: []string{"getconf"}},
	{Package: "hostname", Programs: []string{"hostname"}},
	{Package: "jq", Programs: []string{"jq"}},
	{Package: "busybox-static", Programs: []string{"busybox"}},
	{Package: "kmod", Programs: []string{"kmod", "modprobe", "insmod", "rmmod", "lsmod", "modinfo"}},
	{Package: "iproute2", Programs: []string{"ip", "ss"}},
	{Package: "openssh-server", Programs: []string{"sshd"}, Files: []string{"usr/lib/openssh"}},
	{Package: "openssh-client", Programs: []string{"ssh-keygen"}},
	// What looks at hardware.
	{Package: "pciutils", Programs: []string{"lspci", "setpci"}},
	{Package: "pci.ids", Files: []string{"usr/share/misc/pci.ids"}},
	{Package: "dmidecode", Programs: []string{"dmidecode"}},
	{Package: "nvme-cli", Programs: []string{"nvme"}},
	{Package: "smartmontools", Programs: []string{"smartctl"}},
	{Package: "ipmitool", Programs: []string{"ipmitool"}},
	{Package: "ethtool", Programs: []string{"ethtool"}},
	{Package: "numactl", Programs: []string{"numactl"}},
	{Package: "hdparm", Programs: []string{"hdparm"}},
	{Package: "efibootmgr", Programs: []string{"efibootmgr"}},
	{Package: "rasdaemon", Programs: []string{"rasdaemon", "ras-mc-ctl"}},
	{Package: "perl-base", Programs: []string{"perl"}, Files: []string{multiarch + "/perl-base"}},
	{Package: perlModules, Files: []string{"usr/share/perl/5.*/File/Find.pm"}},
	{Package: "libdbi-perl", Files: []string{multiarch + "/perl5/5.*/DBI.pm", multiarch + "/perl5/5.*/auto/DBI"}},
	{Package: "libdbd-sqlite3-perl", Files: []string{multiarch + "/perl5/5.*/DBD/SQLite*", multiarch + "/perl5/5.*/auto/DBD"}},
	// What loads it.
	{Package: "fio", Programs: []string{"fio"}},
	{Package: "stress-ng", Programs: []string{"stress-ng"}},
	{Package: "stressapptest", Programs: []string{"stressapptest"}},
	{Package: "memtester", Programs: []string{"memtester"}},
	{Package: "iperf3", Programs: []string{"iperf3"}},
}

// perlModules has the version of Perl in its name, and comes as a dependency.
const perlModules = "perl-imageModules-5.*"

// imageExtras are files of the image that no program is linked with but opens by name.
var imageExtras = []string{
	multiarch + "/libgcc_s.so.1", // pthread_exit
}

// stubPackage has the program that starts a kernel it carries, for UEFI.
const (
	stubPackage = "systemd-boot-efi"
	stubFile    = "usr/lib/systemd/boot/efi/linuxx64.efi.stub"
)

// kernelPackage depends on the kernel of the day, by its version.
const kernelPackage = "linux-image-amd64"

// imageModules of the kernel, with what they need. There is no driver for the NIC and
// GPUs whose configuration space the lab makes up: it would find no device behind it.
var imageModules = []string{
	"virtio_pci", "virtio_net", "virtio_blk", "virtio_console", "virtio_rng", "e1000e", "af_packet",
	"nvme", "sd_mod", "sr_mod", "ahci", "usb_storage", "xhci_pci", "ehci_pci", "uhci_hcd",
	"ipmi_si", "ipmi_devintf", "ipmi_watchdog", "ipmi_poweroff",
	"ie31200_edac", "mce_inject", "aer_inject", "msr", "cpuid", "i2c_i801", "softdog",
	"button", "evdev", "efivarfs", "isofs", "vfat", "nls_ascii", "nls_cp437", "nls_utf8", "ext4", "loop", "crc32c_generic", "crc32c_intel",
}

// imageLinks of the image, as maintainer scripts and alternatives would make them.
var imageLinks = map[string]string{
	"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64",
	"usr/bin/sh": "dash", "usr/bin/awk": "mawk", "var/run": "/run", "etc/mtab": "/proc/self/mounts",
}

// applets are the programs that busybox is in the image.
var applets = []string{"clear", "less", "nc", "ping", "poweroff", "reboot", "halt", "udhcpc", "vi", "wget", "which"}

// standIns are tools of the image that are none of their vendor's: shell scripts
// that print text of ours.
var standIns = []string{"nvidia-smi", "gdscheck", "gpu_burn"}

// files of our own, by where they stand in the image.
//
//go:embed image
var imageFiles embed.FS

// imagePackages are the names to resolve, in the order of imagePicks.
func imagePackages() []string {
	names := make([]string, 0, len(imagePicks)+1)
	for _, p := range imagePicks {
		if p.Package != perlModules {
			names = append(names, p.Package)
		}
	}
	return append(names, stubPackage)
}

// recipeHash tells two images apart by what they are made of. sources is where the
// packages come from.
func recipeHash(sources []byte) (string, error) {
	h := sha256.New()
	table := []any{builderVersion, imagePicks, imageExtras, stubPackage, stubFile, kernelPackage, imageModules, imageLinks, applets, standIns, kernelLine}
	if err := json.NewEncoder(h).Encode(table); err != nil {
		return "", fmt.Errorf("hash the image's recipe: %w", err)
	}
	_, _ = h.Write(sources)
	err := fs.WalkDir(imageFiles, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := imageFiles.ReadFile(name)
		_, _ = fmt.Fprintf(h, "%s %d\n", name, len(b)) // a hash takes all
		_, _ = h.Write(b)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("hash the image's recipe: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}
