package burnin

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// shells are the shells that the commands must run in: the strictest that is here.
func shells() []string {
	var out []string
	for _, name := range []string{"dash", "sh", "busybox"} {
		if path, err := exec.LookPath(name); err == nil {
			out = append(out, path)
		}
	}
	return out
}

func runHere(t *testing.T, shell, command string, args ...string) *Evidence {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	line := []string{"-c", Wrap(command), "sh"}
	if strings.HasSuffix(shell, "busybox") {
		line = append([]string{"sh"}, line...)
	}
	cmd := exec.CommandContext(ctx, shell, append(line, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("%s does not run: %v", shell, err)
	}
	exit := cmd.ProcessState.ExitCode()
	return &Evidence{Out: []byte(out.String()), Err: []byte(errs.String()), Exit: &exit, Ended: EndedExit, Source: FromLocal}
}

// Probes that need nothing but a kernel must give a whole reading on any Linux host.
func TestOwnProbesRunHere(t *testing.T) {
	if _, err := os.Stat("/sys/bus/pci/devices"); err != nil {
		t.Skip("this host has no PCI bus")
	}
	none := &profiles.Profile{}
	for _, shell := range shells() {
		t.Run(filepath.Base(shell), func(t *testing.T) {
			for name, line := range map[string]string{"full": PCISysfs.Spec.Command(none), "sample": PCISysfs.Spec.Sample(none)} {
				e := runHere(t, shell, line)
				tree, err := parsePCISysfs(e)
				if err != nil || !tree.Complete || *e.Exit != 0 || len(e.Err) > 0 {
					t.Errorf("pci-sysfs %s: %v, exit %d, stderr %q:\n%s", name, err, *e.Exit, e.Err, e.Out)
				}
			}
			facts, err := parseOS(runHere(t, shell, OSInfo.Spec.Command(none)))
			if err != nil || facts.Kernel == "" || facts.BootID == "" || !facts.Uptime.Set {
				t.Errorf("os: %+v, %v", facts, err)
			}
			if e := runHere(t, shell, EDAC.Spec.Command(none)); *e.Exit != 0 || !strings.Contains(string(e.Out), edacEnd) {
				t.Errorf("edac: exit %d: %s%s", *e.Exit, e.Out, e.Err)
			}
			if e := runHere(t, shell, nvmeInstances); *e.Exit != 0 {
				t.Errorf("list of drives: exit %d: %s", *e.Exit, e.Err)
			}
		})
	}
}

// What the other commands print on this host is either read or an error that says
// what to do; nothing here is a machine that passes.
func TestCommandsRunHere(t *testing.T) {
	none := &profiles.Profile{}
	parsers := hostParsers()
	for _, spec := range Probes() {
		parse := parsers[spec.Name]
		if parse == nil || spec.Instances != "" || spec.Command(none) == "" {
			continue
		}
		if _, err := exec.LookPath(spec.Tool); spec.Tool != "" && err != nil {
			t.Logf("%s: %s is not here", spec.Name, spec.Tool)
			continue
		}
		e := runHere(t, shells()[0], spec.Command(none))
		if _, complete := e.Body(); !complete {
			t.Errorf("%s: the end mark is not there: %q", spec.Name, e.Out)
		}
		if err := e.Usable(); err != nil {
			t.Logf("%s: %v", spec.Name, err)
			continue
		}
		if err := parse(e); err != nil {
			t.Logf("%s: %v", spec.Name, err)
			if !strings.Contains(err.Error(), spec.Name) {
				t.Errorf("the error of %s does not name the probe: %v", spec.Name, err)
			}
		}
	}
}

// fakeSys writes files of a /sys.
func fakeSys(t *testing.T, files map[string]string, links map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range links {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(root, to), file); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestPCISysfsScript(t *testing.T) {
	const (
		port  = "devices/pci0000:15/0000:15:01.0/"
		up    = port + "0000:16:00.0/"
		gpu   = up + "0000:17:00.0/"
		vmd   = "devices/pci0000:64/0000:64:00.5/pci10000:00/10000:00:02.0/"
		drive = vmd + "10000:01:00.0/"
		vf    = up + "0000:17:00.1/"
	)
	files := map[string]string{
		"bus/pci/slots/28/address":  "0000:17:00\n",
		gpu + "aer_dev_correctable": "RxErr 2\nBadTLP 0\nTOTAL_ERR_COR 2\n", gpu + "aer_dev_fatal": "DLP 0\nTOTAL_ERR_FATAL 0\n",
		drive + "nvme/nvme0/state": "live\n", drive + "nvme/nvme0/serial": "RPTEST0001          \n", drive + "nvme/nvme0/model": "Example NVMe 3.84TB  \n",
		drive + "nvme/nvme0/nvme0c0n1/stat": "    5     0   100    1     2   0    50  3  0  0 0\n", drive + "nvme/nvme0/nvme0c0n1/size": "2000\n",
		"block/nvme0n1/stat": "    9     0   300    1     2   0    60  3  0  0 0\n", "block/nvme0n1/size": "2000\n",
		vf + "net/ens1f0v0/address": "7c:c2:55:00:20:01\n", vf + "net/ens1f0v0/statistics/rx_bytes": "7\n", vf + "net/ens1f0v0/statistics/tx_bytes": "8\n",
		vf + "infiniband/mlx5_1/ports/1/counters/port_rcv_data": "10\n", vf + "infiniband/mlx5_1/ports/1/counters/port_xmit_data": "5\n",
		vf + "physfn/class": "0x020000\n",
	}
	links := map[string]string{gpu + "driver": "bus/pci/drivers/nvidia"}
	for dir, class := range map[string]string{port: "0x060400", up: "0x060400", gpu: "0x030200", vmd: "0x060400", drive: "0x010802", vf: "0x020000", "devices/pci0000:00/0000:00:02.0/": "0x0c0330"} {
		files[dir+"class"], files[dir+"vendor"], files[dir+"device"] = class+"\n", "0x10de\n", "0x2330\n"
		files[dir+"current_link_speed"], files[dir+"current_link_width"] = "16.0 GT/s PCIe\n", "16\n"
		address := filepath.Base(dir)
		links["bus/pci/devices/"+address] = dir
	}
	files["bus/pci/drivers/nvidia/bind"] = ""
	root := fakeSys(t, files, links)
	for _, shell := range shells() {
		t.Run(filepath.Base(shell), func(t *testing.T) {
			command := strings.ReplaceAll(PCISysfs.Spec.Command(nil), "/sys/", root+"/")
			tree, err := parsePCISysfs(runHere(t, shell, command))
			if err != nil || !tree.Complete {
				t.Fatalf("%v, complete %v", err, tree != nil && tree.Complete)
			}
			if len(tree.Devices) != 6 {
				t.Errorf("%d devices, want 6: a USB controller is none of ours", len(tree.Devices))
			}
			g := tree.At("0000:17:00.0")
			if g == nil || g.Driver != "nvidia" || !slices.Contains(g.Errors, PCIError{Kind: "correctable", Name: "RxErr", Count: 2}) || g.Slot != "28" || g.Link != (PCILink{16, 16}) {
				t.Errorf("GPU %+v", g)
			}
			if path := tree.Above("0000:17:00.0"); len(path) != 2 || path[1].Address != "0000:15:01.0" {
				t.Errorf("way to the root port %v", path)
			}
			d := tree.At("10000:01:00.0")
			want := PCIDrive{Name: "nvme0", Model: "Example NVMe 3.84TB", Serial: "RPTEST0001", State: "live", Bytes: 2000 * 512}
			if d == nil || len(d.Drives) != 1 || d.Drives[0] != want || d.Moved.V != 360*512 || d.Parent != "10000:00:02.0" {
				t.Errorf("drive behind a volume device %+v", d)
			}
			v := tree.At("0000:17:00.1")
			if v == nil || !v.Virtual || v.Moved.V != 15+60 {
				t.Errorf("virtual function %+v", v)
			}
			if nics := tree.Of(pciNIC); slices.Contains(nics, v) {
				t.Error("a virtual function counts as an adapter")
			}
		})
	}
}
