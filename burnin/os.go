package burnin

import (
	"errors"
	"strings"
	"time"
)

// OSInfo is what is booted, and what the kernel shows of the firmware's identity
// without any tool. Serial numbers there are for root alone.
var OSInfo = Probe[OSFacts]{
	Spec: ProbeSpec{
		Name:     "os",
		Command:  always(osScript),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Deadline: 15 * time.Second,
	},
	Parse: parseOS,
}

// osScript prints name=value lines; os-release comes with a prefix to each name.
// Secrets on the kernel's command line stay on the node.
const osScript = `
echo "kernel=$(uname -r)"; echo "machine=$(uname -m)"; echo "node=$(uname -n)"; echo "user=$(id -u)"
for f in boot_id=/proc/sys/kernel/random/boot_id uptime=/proc/uptime cmdline=/proc/cmdline tainted=/proc/sys/kernel/tainted; do
  v=; [ -r "${f#*=}" ] && read -r v <"${f#*=}"
  out=; set -f; for w in $v; do
    case $w in *[Tt]oken*=*|*[Pp]ass*=*|*[Ss]ecret*=*|*[Aa]uth*=*) w="${w%%=*}=(not shown)";; esac; out="$out $w"
  done; set +f; echo "${f%%=*}=${out# }"
done
if [ -r /etc/os-release ]; then
  while read -r line; do case $line in [A-Z]*=*) echo "release.$line";; esac; done </etc/os-release
fi
for f in sys_vendor product_name product_serial product_uuid product_sku board_vendor board_name board_serial chassis_vendor chassis_serial bios_version; do
  v=; [ -r "/sys/class/dmi/id/$f" ] && read -r v 2>/dev/null <"/sys/class/dmi/id/$f"; [ -n "$v" ] && echo "dmi.$f=$v"
done
set -- /sys/kernel/iommu_groups/*
n=$#; [ -e "$1" ] || n=0; echo "iommu_groups=$n"
echo "end=1"
`

// OSFacts are facts about the system that is booted.
type OSFacts struct {
	Kernel, Machine, BootID, Name, CommandLine string

	Uptime   Opt[float64] // seconds
	Groups   Opt[float64] // of devices behind an IOMMU; 0 = none works
	Root     bool
	Identity Identity // as sysfs shows it; blank where it does not
}

func parseOS(e *Evidence) (OSFacts, error) {
	body, _ := e.Body()
	f := map[string]string{}
	for line := range strings.Lines(string(body)) {
		if name, value, ok := strings.Cut(chomp(line), "="); ok {
			f[name] = strings.TrimSpace(value)
		}
	}
	if f["kernel"] == "" {
		return OSFacts{}, errors.New("os: the output is not that of rackproof's own probe")
	}
	uptime, _, _ := strings.Cut(f["uptime"], " ")
	id := func(name string) string { return plainIdentity(f["dmi."+name]) }
	return OSFacts{
		Kernel: f["kernel"], Machine: f["machine"], BootID: f["boot_id"], CommandLine: f["cmdline"],
		Name: strings.Trim(f["release.PRETTY_NAME"], `"'`), Uptime: looseNumber(uptime), Groups: optCount(f["iommu_groups"]), Root: f["user"] == "0",
		Identity: Identity{
			Manufacturer: id("sys_vendor"), Model: id("product_name"), UUID: plainUUID(f["dmi.product_uuid"]),
			SystemSerial: id("product_serial"), ChassisSerial: id("chassis_serial"), BoardSerial: id("board_serial"), SKU: id("product_sku"),
		},
	}, nil
}
