package nodetest

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/shell"
)

// reply is what a command prints and how it ends.
type reply struct {
	out, err string
	exit     int
	hang     bool // it never ends
}

// run answers one request of an SSH client. What takes its time is written to out while
// it goes on.
func (h *host) run(ctx context.Context, request string, stdin io.Reader, out io.Writer) reply {
	line, ok := shell.Unwrap(request)
	if !ok {
		line = request
	}
	if verb, args, ok := burnin.NodeCall(line); ok {
		switch verb {
		case "facts":
			return reply{out: h.now().facts(args)}
		case "phase":
			return h.phase(ctx, args, stdin, out)
		case "gpu-work": // nobody else works here
			return h.now().nvidiaSMI([]string{"--query-compute-apps"})
		case "pair":
			return reply{out: h.now().pairPorts()}
		case "reboot":
			return h.reboot(args)
		}
		return h.side(verb, args, stdin)
	}
	command, wrapped := unwrap(line)
	r := h.now().command(command)
	if wrapped && !r.hang {
		r.out += endLine(r.exit)
	}
	return r
}

func endLine(exit int) string { return "\n#rackproof-end " + itoa(exit) + "\n" }

// unwrap takes burnin.Wrap off a command line.
func unwrap(line string) (string, bool) {
	const hole = "\x00"
	before, after, _ := strings.Cut(burnin.Wrap(hole), hole)
	inner, ok := strings.CutPrefix(line, before)
	if !ok {
		return line, false
	}
	return strings.CutSuffix(inner, after)
}

// command answers one of burnin's probes, or a call of a tool by a person who
// looks around. Another command ends as on a real shell: 127, "not found".
func (s *system) command(line string) reply {
	instance := ""
	if rest, ok := strings.CutPrefix(line, "set -- '"); ok {
		instance, line, _ = strings.Cut(rest, "'; ")
	}
	if name := probeOf(line); name != "" {
		return s.probe(name, instance)
	}
	if rest, ok := strings.CutPrefix(line, "for f in "); ok {
		files, _, _ := strings.Cut(rest, ";")
		return reply{out: s.identity(strings.Fields(files))}
	}
	if _, call, ok := strings.Cut(line, "$(nvidia-smi "); ok { // a sample, with another query for drivers that refuse this one
		call, _, _ = strings.Cut(call, ")")
		return s.nvidiaSMI(splitWords(call))
	}
	words := splitWords(line)
	if len(words) == 0 {
		return reply{}
	}
	tool := path.Base(words[0])
	if answer, ok := tools[tool]; ok {
		return answer(s, words[1:])
	}
	return reply{err: "sh: 1: " + words[0] + ": not found\n", exit: 127}
}

// probeOf finds whose command line it is, of the probes that are no plain call of
// nvidia-smi.
func probeOf(line string) string {
	for _, p := range burnin.Probes() {
		if p.Tool == "nvidia-smi" || p.Command == nil {
			continue
		}
		switch {
		case line == p.Command(nil):
			return p.Name
		case p.Sample != nil && line == p.Sample(nil):
			return p.Name + " sample"
		}
	}
	return ""
}

// probe prints a page by the name of its probe; instance is the device for those
// that are asked one by one.
func (s *system) probe(name, instance string) reply {
	plain := map[string]func() string{
		"pci-sysfs":        func() string { return s.pciSysfs(true) },
		"pci-sysfs sample": func() string { return s.pciSysfs(false) },
		"lspci":            s.lspci,
		"dmidecode":        s.dmidecode,
		"lscpu":            s.lscpu,
		"os":               s.osInfo,
		"edac":             s.edac,
		"ras":              s.ras,
		"kernel-log":       s.dmesg,
		"pstore":           func() string { return "#rackproof-pstore-end\n" },
		"block-devices":    s.lsblk,
		"nvme-list":        s.nvmeList,
		"gdscheck":         s.gdscheck,
		"ib-status":        s.ibStatus,
		"ethtool":          s.ethtool,
		"lldp":             s.lldp,
		"raid": func() string {
			return "Personalities : \nunused devices: <none>\n#raid mdstat 0\n#rackproof-raid-end\n"
		},
		"bmc-lan": s.ipmiLan,
	}
	if write, ok := plain[name]; ok {
		return reply{out: write()}
	}
	if name == "fabric-manager" {
		return s.fabricManager()
	}
	d := s.drive(instance)
	if d == nil {
		return reply{err: "No such device: " + instance + "\n", exit: 2}
	}
	if name == "smartctl" {
		return s.smartctl(d)
	}
	return reply{out: s.nvmeSmart(d)}
}

// tools that answer by their arguments, whoever calls them.
var tools = map[string]func(*system, []string) reply{
	"nvidia-smi": (*system).nvidiaSMI,
	"uname":      func(*system, []string) reply { return reply{out: "Linux\n"} },
	"hostname":   func(s *system, _ []string) reply { return reply{out: s.hostname() + "\n"} },
	"cat":        (*system).cat,
	"true":       func(*system, []string) reply { return reply{} },
}

// versions of the programs on the simulated image, as they print them. A tool that
// is not here is not on the node.
var versions = map[string]string{
	"nvidia-smi": "", "nv-fabricmanager": "", // by driver
	"lspci": "lspci version 3.9.0", "dmidecode": "3.4", "smartctl": "smartctl 7.4 2023-08-01 r5530 (simulated)",
	"nvme": "nvme version 2.8 (git 2.8)", "lscpu": "lscpu from util-linux 2.39.3", "lsblk": "lsblk from util-linux 2.39.3",
	"ethtool": "ethtool version 6.1", "lldpcli": "1.0.16",
	"gdscheck": "GDS release version: 1.13.1.3", "ras-mc-ctl": "ras-mc-ctl 0.8.0", "ipmitool": "ipmitool version 1.8.19",
	"gpu_burn": "simulated", "nvbandwidth": "", "all_reduce_perf": "", "dcgmi": "", "ib_write_bw": "", "stress-ng": "stress-ng, version 0.17.06", "stressapptest": "", "fio": "fio-3.36", "setsid": "setsid from util-linux 2.39.3",
}

// onImage reports whether a program is on the node.
func (s *system) onImage(tool string) bool {
	_, ok := versions[path.Base(tool)]
	if tool == "nv-fabricmanager" {
		return s.M.GPUKind.Fabric
	}
	return ok
}

// facts answers what a node is asked first, with the tools that it has of want.
func (s *system) facts(want []string) string {
	gpus, ids := 0, ""
	for i := range s.M.PCI {
		if d := &s.M.PCI[i]; d.Vendor == "10de" && strings.HasPrefix(d.Class, "0302") {
			gpus++
			ids += "gpu " + d.Vendor + ":" + d.Device + "\n"
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "host %s\nclock %s\nboot %s\nuid 0\nos rackproof-simulated\ncpus %d\n", s.hostname(), s.Now.UTC().Format("2006-01-02T15:04:05Z"), s.BootID, s.M.CPU.Sockets*s.M.CPU.Cores*2)
	fmt.Fprintf(&b, "sys_vendor %s\nproduct_name %s\nboard_name %s\ngpus %d\nnvmes %d\n", s.M.Manufacturer, s.M.Product, s.M.Board, gpus, len(s.M.Drives))
	b.WriteString(ids)
	for _, t := range want {
		if s.onImage(t) {
			b.WriteString("tool " + t + "\n")
		}
	}
	return b.String() + "end\n" + s.survey(want)
}

// survey answers what is asked beside the facts: instances of probes and versions of
// tools.
func (s *system) survey(want []string) string {
	var b strings.Builder
	for _, section := range want {
		kind, probe, asked := strings.Cut(section, " ")
		if !asked { // a tool
			continue
		}
		b.WriteString("\n#rackproof-section " + section + "\n")
		if kind == "instances" {
			for _, d := range s.M.Drives {
				b.WriteString(d.Name + "\n")
			}
			continue
		}
		i := slices.IndexFunc(burnin.Probes(), func(p burnin.ProbeSpec) bool { return p.Name == probe })
		if i < 0 {
			continue
		}
		p := burnin.Probes()[i]
		if p.Tool != "nvidia-smi" {
			b.WriteString(versions[p.Tool] + "\n")
			continue
		}
		r := s.nvidiaSMI(splitWords(p.Version)[1:])
		if r.hang { // the survey is cut off where the tool hangs
			return b.String()
		}
		b.WriteString(r.out)
	}
	return b.String() + "\n#rackproof-section end\n"
}

// identity answers who this host is, as provision asks before it puts any load on
// it: each file with its content, then the MAC of the host's own BMC.
func (s *system) identity(files []string) string {
	var b strings.Builder
	for _, f := range files {
		b.WriteString(f + " " + s.files()[f] + "\n")
	}
	return b.String() + "bmc " + s.M.BMCMAC + "\n"
}

func (s *system) files() map[string]string {
	return map[string]string{
		"/proc/cmdline": s.Cmdline, "/proc/sys/kernel/random/boot_id": s.BootID,
		"/sys/class/dmi/id/product_uuid": s.M.UUID, "/sys/class/dmi/id/product_serial": s.M.SystemSerial,
		"/sys/class/dmi/id/sys_vendor": s.M.Manufacturer, "/sys/class/dmi/id/product_name": s.M.Product,
	}
}

func (s *system) cat(args []string) reply {
	var r reply
	for _, a := range args {
		text, ok := s.files()[a]
		if !ok {
			r.err += "cat: " + a + ": No such file or directory\n"
			r.exit = 1
			continue
		}
		r.out += text + "\n"
	}
	return r
}

// splitWords splits a simple command as a shell does, and stops at the first
// operator.
func splitWords(line string) []string {
	var (
		words []string
		word  strings.Builder
		quote rune
		begun bool
	)
	flush := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range strings.TrimSpace(line) {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t':
			flush()
		case strings.ContainsRune("\n;|&<>", r):
			flush()
			return words
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	flush()
	return words
}
