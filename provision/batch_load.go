package provision

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/rackproof/rackproof/profiles"
)

// LoadBatch reads a batch file. It reports every mistake at once, each as
// "file:line:column: what", and contacts nothing: profiles, specs, credentials
// and image folders are looked for on this machine only. The error is
// profiles.Problems when the file itself is at fault.
func LoadBatch(path string, lib *profiles.Library) (*Batch, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("batch file: %w", err)
	}
	return ParseBatch(path, b, lib)
}

// ParseBatch is LoadBatch for bytes; file names them, and other files are found
// relative to it.
func ParseBatch(file string, b []byte, lib *profiles.Library) (*Batch, error) {
	return parseBatch(file, b, lib, false)
}

// LoadRemoteBatch is LoadBatch for a batch that workers elsewhere carry: its
// credentials must be theirs, secret:NAME or csv:FILE#COLUMN, and are not looked for here.
func LoadRemoteBatch(path string, lib *profiles.Library) (*Batch, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("batch file: %w", err)
	}
	return parseBatch(path, b, lib, true)
}

func parseBatch(file string, b []byte, lib *profiles.Library, remote bool) (*Batch, error) {
	dir, err := filepath.Abs(filepath.Dir(file)) // a run is resumed from anywhere
	if err != nil {
		return nil, fmt.Errorf("batch file: %w", err)
	}
	l := &loader{reader: reader{file: file}, lib: lib, dir: dir, remote: remote}
	l.images, l.profiles, l.specs = map[string]map[string]FirmwareFile{}, map[string]*profiles.Profile{}, map[string]*profiles.Spec{}
	l.batch = &Batch{Source: file, Spec: defaultSpec, Workflow: defaultWorkflow, Resolved: map[string][]byte{}}
	l.base = Machine{
		Login: BMCLogin{User: "env:BMC_USER", Password: "env:BMC_PASSWORD", TLS: "pin"},
		SSH:   SSH{User: "root", Port: 22},
		Boot:  Boot{Method: BootAuto},
	}
	if root := l.parse(b); root != nil {
		l.root(root)
		l.check()
	}
	if len(l.problems) > 0 {
		slices.SortStableFunc(l.problems, func(a, b profiles.Problem) int {
			return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
		})
		return nil, slices.Compact(l.problems)
	}
	return l.batch, nil
}

// loader reads one batch.
type loader struct {
	reader
	lib    *profiles.Library
	dir    string
	remote bool // credentials are those of workers elsewhere
	batch  *Batch
	base   Machine                            // defaults
	expct  placed                             // the batch's own expect
	rows   []rowInfo                          // beside batch.Machines: where each stands
	images map[string]map[string]FirmwareFile // newest firmware, by profile and component
	top    map[string]profiles.Position       // of the batch's own keys

	profiles map[string]*profiles.Profile // read already, with what is expected laid over them
	specs    map[string]*profiles.Spec
}

// placed is an expect: with its place.
type placed struct {
	expect profiles.Expect
	pos    profiles.Position
}

// rowInfo is where the values of a machine stand, for messages.
type rowInfo struct {
	pos    profiles.Position
	keys   map[string]profiles.Position
	expect placed
}

func (i rowInfo) at(key string) profiles.Position {
	if p, ok := i.keys[key]; ok {
		return p
	}
	return i.pos
}

func (l *loader) root(n ast.Node) {
	var machines ast.Node
	l.top = map[string]profiles.Position{}
	for _, p := range l.pairs(n, "the batch") {
		l.top[keyOf(p)] = l.at(p.Value)
	}
	l.fields(n, "the batch", field{
		"name":        l.name,
		"profile":     l.str(&l.batch.Profile),
		"spec":        l.str(&l.batch.Spec),
		"workflow":    l.workflow,
		"customer":    l.str(&l.batch.Customer),
		"order":       l.str(&l.batch.Order),
		"stage":       l.str(&l.batch.Stage),
		"defaults":    l.defaults,
		"racks":       l.racks,
		"pdus":        l.pdus,
		"limits":      l.limits,
		"netboot":     l.netboot,
		"firmware":    l.firmware,
		"diagnostics": l.diagnostics,
		"network":     l.network,
		"notify":      l.notify,
		"expect":      func(n ast.Node) { l.expct = l.expect(n) },
		"machines":    func(n ast.Node) { machines = n },
	})
	if _, ok := l.top["name"]; !ok {
		l.add(l.at(n), "the batch needs a name: it is the identity of its run")
	}
	if machines == nil {
		l.add(l.at(n), "the batch has no machines:")
		return
	}
	l.machines(machines) // last, so that the defaults are known
}

func (l *loader) name(n ast.Node) {
	l.str(&l.batch.Name)(n)
	if !fileSafe.MatchString(l.batch.Name) {
		l.problem(n, "name %s: use letters, digits, '.', '-' and '_', at most 64; it names a folder", quoteNode(n))
	}
}

func (l *loader) defaults(n ast.Node) {
	var ignored map[string]profiles.Position
	l.fields(n, "defaults", l.shared(&l.base, &ignored, nil))
}

// shared are the keys that defaults and machines have in common.
func (l *loader) shared(m *Machine, keys *map[string]profiles.Position, expect *placed) field {
	f := field{
		"ssh": func(n ast.Node) {
			l.fields(n, "ssh", field{
				"user": l.str(&m.SSH.User), "key": l.ref(&m.SSH.Key), "port": l.integer(&m.SSH.Port, 1),
				"known_hosts": func(n ast.Node) { l.str(&m.SSH.KnownHosts)(n); m.SSH.KnownHosts = l.path(m.SSH.KnownHosts) },
			})
		},
		"via":     l.str(&m.Via),
		"reboots": l.integer(&m.Reboots, 1), "mig_test": l.yes(&m.MIGTest),
		"boot": func(n ast.Node) {
			l.fields(n, "boot", field{"image": l.str(&m.Boot.Image), "method": l.method(&m.Boot.Method), "console": l.yes(&m.Boot.Console)})
		},
	}
	if expect == nil { // defaults: bmc is how to log in
		f["bmc"] = func(n ast.Node) {
			l.fields(n, "bmc", l.login(&m.Login))
			l.noTLS(n, &m.Login)
		}
		f["bmc_network"], f["raid"] = l.bmcNetwork(&m.Network), l.raid(&m.RAID)
		return f
	}
	f["expect"] = func(n ast.Node) { *expect = l.expect(n) }
	note := func(key string, take func(ast.Node)) {
		f[key] = func(n ast.Node) {
			(*keys)[key] = l.at(n)
			take(n)
		}
	}
	note("name", l.str(&m.Name))
	note("bmc_network", l.bmcNetwork(&m.Network))
	note("raid", l.raid(&m.RAID))
	note("bmc", func(n ast.Node) { l.machineBMC(n, m) })
	note("serial", l.str(&m.Serial))
	note("uuid", l.str(&m.UUID))
	note("rack", l.str(&m.Rack))
	note("u", l.integer(&m.U, 1))
	note("mac", l.str(&m.MAC))
	note("host", l.str(&m.Host))
	note("system", l.str(&m.System))
	note("profile", l.str(&m.Profile))
	note("spec", l.str(&m.Spec))
	note("pdus", l.words(&m.PDUs))
	note("write_disks", l.words(&m.WriteDisks))
	note("wipe", l.wipe(m))
	note("cables", func(n ast.Node) {
		m.Cables = map[string]string{}
		for _, p := range l.pairs(n, "cables") {
			var end string
			l.str(&end)(p.Value)
			if end == "" {
				l.problem(p.Value, "cables %s: write the switch and its port, %s: leaf12 Ethernet7", keyOf(p), keyOf(p))
			}
			m.Cables[keyOf(p)] = end
		}
	})
	return f
}

func (l *loader) login(to *BMCLogin) field {
	return field{"protocol": l.protocol(&to.Protocol), "user": l.ref(&to.User), "password": l.ref(&to.Password), "new_password": l.ref(&to.New), "tls": l.tls(to)}
}

// machineBMC takes an address, or an address with a login of its own.
func (l *loader) machineBMC(n ast.Node, m *Machine) {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		f := l.login(&m.Login)
		f["addr"] = l.str(&m.BMC)
		l.fields(n, "bmc", f)
		l.noTLS(n, &m.Login)
	default:
		l.str(&m.BMC)(n)
	}
}

// tls takes how a certificate is trusted, alone or as {mode: …, legacy: true}.
func (l *loader) tls(to *BMCLogin) func(ast.Node) {
	mode := func(n ast.Node) {
		l.str(&to.TLS)(n)
		if !goodTLS(to.TLS) {
			l.problem(n, "tls %s: choose pin, ca:FILE or insecure", quoteNode(n))
			return
		}
		if file, ok := cutCA(to.TLS); ok {
			to.TLS = "ca:" + l.path(file)
		}
	}
	return func(n ast.Node) {
		switch n.(type) {
		case *ast.MappingNode, *ast.MappingValueNode:
			l.fields(n, "tls", field{"mode": mode, "legacy": l.yes(&to.Legacy), "sha256": l.sha256(to)})
		default:
			mode(n)
		}
	}
}

// sha256 takes the certificate that a BMC showed to `discover`.
func (l *loader) sha256(to *BMCLogin) func(ast.Node) {
	return func(n ast.Node) {
		l.str(&to.SHA256)(n)
		to.SHA256 = strings.ToLower(to.SHA256)
		switch {
		case to == &l.base.Login:
			l.problem(n, "sha256 is the certificate of one BMC: write it at its machine")
		case !sha256Form.MatchString(to.SHA256):
			l.problem(n, "sha256 %s: want the 64 hexadecimal digits that `rackproof discover` shows", quoteNode(n))
		}
	}
}

func (l *loader) method(to *BootMethod) func(ast.Node) {
	return func(n ast.Node) {
		l.str((*string)(to))(n)
		known := []string{string(BootAuto), string(BootUEFIHTTP), string(BootMedia), string(BootPXE), string(BootDisk), string(BootNone)}
		if !slices.Contains(known, string(*to)) {
			l.problem(n, "boot method %q: choose one of %v%s", *to, known, didYouMean(string(*to), known))
		}
	}
}

func (l *loader) limits(n ast.Node) {
	to := &l.batch.Limits
	l.fields(n, "limits", field{
		"parallel": l.integer(&to.Parallel, 1), "poll": l.duration(&to.Poll), "stagger": l.duration(&to.Stagger),
		"load": l.duration(&to.Load), "dead_man": l.duration(&to.DeadMan),
		"tries": l.integer(&to.Tries, 1), "bmc_reset": l.bmcReset,
	})
}

func (l *loader) netboot(n ast.Node) {
	to := &l.batch.Netboot
	l.fields(n, "netboot", field{
		"listen": l.str(&to.Listen),
		"images": func(n ast.Node) { l.str(&to.Images)(n); to.Images = l.path(to.Images) },
	})
}

func (l *loader) firmware(n ast.Node) {
	to := &l.batch.Firmware
	l.fields(n, "firmware", field{
		"folder": func(n ast.Node) {
			l.str(&to.Folder)(n)
			to.Folder = l.path(to.Folder)
			if info, err := os.Stat(to.Folder); err != nil || !info.IsDir() {
				l.problem(n, "firmware folder %s is not there: it holds PROFILE/COMPONENT/VERSION/FILE", quoteNode(n))
			}
		},
		"update": l.yes(&to.Update),
	})
	if to.Update && to.Folder == "" {
		l.problem(n, "firmware: update needs a folder with the images")
	}
}

func (l *loader) expect(n ast.Node) placed {
	var e profiles.Expect
	l.fields(n, "expect", field{
		"dimms": l.count(&e.DIMMs), "dimm_size": l.quantity(&e.DIMMSize), "dimm_speed": l.quantity(&e.DIMMSpeed),
		"gpus": l.count(&e.GPUs), "drives": l.count(&e.Drives), "drive_size": l.quantity(&e.DriveSize),
		"nics": l.count(&e.NICs), "psus": l.count(&e.PSUs),
	})
	return placed{e, l.at(n)}
}

// fromHere makes a reference to a file one that holds from every folder.
func (l *loader) fromHere(r Ref) Ref {
	kind, rest, err := r.parts()
	if err != nil || kind != "file" && kind != "csv" {
		return r
	}
	return Ref(kind + ":" + l.path(rest))
}

// path is a file beside the batch.
func (l *loader) path(p string) string {
	p = ExpandHome(p)
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(l.dir, p)
}
