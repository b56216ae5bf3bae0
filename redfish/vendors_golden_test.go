package redfish

import (
	"bytes"
	"context"
	flags "flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

var update = flags.Bool("update", false, "rewrite docs/vendors.md")

// vendorRow is one line of machines in the table.
type vendorRow struct{ maker, model, firmware, known, intents, boot, uri, port, media, diagnostics, source string }

// unseen are machines of our trade of which there is neither a capture nor a
// document at hand: nothing is claimed of them. They get what their maker's seen
// machines get, as far as their BMC shows the same.
var unseen = [][2]string{
	{"dell", "PowerEdge XE9680, XE8640; iDRAC10 machines"},
	{"hpe", "ProLiant Gen11 (iLO6), Gen12 (iLO7), Cray XD"},
	{"lenovo", "ThinkSystem SR675 V3, SR680a V3, SR780a V3 (XCC2, XCC3)"},
	{"supermicro", "X11 to X13 and H12 to H14 other than the SYS-821GE; X14"},
	{"nvidia", "DGX H200, DGX B200, DGX GB300"},
	{"gigabyte", "G593 and other GPU servers (of the H262-Z63 there are bodies, its BIOS names are numbers)"},
	{"asrock", "all"},
	{"intel", "all"},
	{"quanta", "all"},
	{"ami", "boards of others"},
	{"openbmc", "as it comes"},
}

// TestGoldenVendors writes what is known of each line of machines, from the captured
// trees by way of the client, and from its tables; -update rewrites docs/vendors.md.
func TestGoldenVendors(t *testing.T) {
	var rows []vendorRow
	seenSources := map[string]bool{}
	for _, tree := range []string{"dell", "hpe", "lenovo", "nvidia_viking", "supermicro"} {
		row := treeRow(t, tree)
		rows = append(rows, row)
		seenSources[row.source] = true
	}
	for _, m := range []struct {
		maker string
		does  behaviour
	}{{"dell", dell{}}, {"hpe", hpe{}}, {"lenovo", lenovo{}}, {"nvidia", nvidia{}}, {"supermicro", supermicro{}}} {
		for i, table := range m.does.intents() {
			if i == 0 { // is a row by its tree
				continue
			}
			rows = append(rows, vendorRow{
				maker: m.maker, model: table.model, firmware: table.firmware, known: string(table.standing), intents: tableIntents(table),
				boot: "not seen", uri: "not seen", port: "not seen", media: "not seen", diagnostics: "not seen", source: table.source,
			})
		}
	}
	for _, u := range unseen {
		rows = append(rows, vendorRow{maker: u[0], model: u[1], known: "not seen"})
	}
	var b strings.Builder
	b.WriteString("# Machines and what is known of them\n\n" +
		"Written by `go test ./redfish -run GoldenVendors -update` from captured trees and the tables of package redfish; a test compares.\n" +
		"*seen*: in a capture of such a machine. *documented*: in the named document. *not seen*: nothing is claimed;\n" +
		"the standard behaviour serves, and what does not fit is told before anything is changed.\n\n" +
		"| maker | model | firmware | known | BIOS intents | boot targets | boot URI | boot by port | virtual media | diagnostics | source |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join([]string{r.maker, r.model, r.firmware, r.known, r.intents, r.boot, r.uri, r.port, r.media, r.diagnostics, r.source}, " | "))
	}
	writeWays(t, &b)
	path := filepath.Join("..", "docs", "vendors.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	had, err := os.ReadFile(path)
	if err != nil || string(had) != b.String() {
		t.Errorf("docs/vendors.md is not what the code knows (%v): run the test with -update and read the difference", err)
	}
}

// writeWays writes what each maker has in a form of its own. A name that is said to be
// seen in a captured tree must stand there.
func writeWays(t *testing.T, b *strings.Builder) {
	t.Helper()
	b.WriteString("\nWhat each maker has in a form of its own; all else is the standard's. *it is there*: on what that stands;\n" +
		"*it works*: on what it stands that setting it does what it says, empty where it is only read.\n\n" +
		"| maker | what | name | it is there | it works | source |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, m := range []struct {
		maker, tree string
		does        behaviour
	}{{"dell", "dell", dell{}}, {"hpe", "hpe", hpe{}}, {"lenovo", "lenovo", lenovo{}}, {"nvidia (by ami)", "nvidia_viking", nvidia{}}, {"supermicro", "supermicro", supermicro{}}} {
		tree := capturedTree(t, m.tree)
		for _, w := range m.does.ways() {
			fmt.Fprintf(b, "| %s |\n", strings.Join([]string{m.maker, w.what, w.name, string(w.read), string(w.sets), w.from}, " | "))
			if w.read == seen && strings.HasPrefix(w.from, "captured tree ") && !standsIn(tree, w.name) {
				t.Errorf("%s: %s is said to be seen, and is nowhere in the captured tree %s", m.maker, w.name, m.tree)
			}
		}
	}
}

func standsIn(tree redfishtest.Tree, word string) bool {
	for _, body := range tree {
		if bytes.Contains(body, []byte(word)) {
			return true
		}
	}
	return false
}

// uriMark is on what a cell of the column "boot URI" stands.
func uriMark(does behaviour) string {
	for _, w := range does.ways() {
		if w.what == "boot URI" {
			return " (" + string(w.read) + ", setting it " + string(w.sets) + ")"
		}
	}
	return ""
}

func capturedTree(t *testing.T, name string) redfishtest.Tree {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "redfish", name+".tar.gz")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("captured trees are not at hand: %v", err)
	}
	tree, err := redfishtest.LoadTarGz(path)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func tableIntents(table intentTable) string {
	var parts []string
	for _, k := range knownIntents {
		var values []string
		for _, v := range k.values {
			if slices.ContainsFunc(table.rules, func(r intentRule) bool { return r.intent == k.name && r.values[v] != nil }) {
				values = append(values, v)
			}
		}
		if len(values) > 0 {
			parts = append(parts, k.name+" "+strings.Join(values, "/"))
		}
	}
	return strings.Join(parts, ", ")
}

// treeRow asks the client what a captured machine can do.
func treeRow(t *testing.T, name string) vendorRow {
	t.Helper()
	tree := capturedTree(t, name)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bmc, err := redfishtest.Start(ctx, redfishtest.Options{Tree: tree})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bmc.Close() }()
	c, err := Open(ctx, Config{Addr: bmc.Addr(), User: "admin", Password: "password"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	id, err := c.Identity(ctx)
	if err != nil {
		t.Fatal(err)
	}
	boot, err := c.Boot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	table := c.behaviour.intents()[0]
	row := vendorRow{
		maker: c.Vendor(), model: id.Model, firmware: "BMC " + id.BMCFirmware + ", BIOS " + id.BIOSVersion, known: string(seen),
		intents: treeIntents(ctx, t, c), boot: strings.Join(boot.Allowed, " "), uri: "no", port: "no", media: "none listed", source: table.source,
	}
	const uri = "http://192.0.2.1/a.efi"
	if plan, err := c.PlanBoot(ctx, Boot{Target: "UefiHttp", HTTPBootURI: uri}); err == nil {
		row.uri = "HttpBootUri"
		for name, value := range plan.BIOS {
			if value == uri {
				row.uri = "BIOS " + name
			}
		}
		row.uri += uriMark(c.behaviour)
	}
	row.port = portWay(ctx, t, c)
	row.diagnostics = diagnosticWords(ctx, t, c)
	if slots, err := c.Media(ctx); err == nil {
		row.media = ""
		for _, s := range slots {
			row.media = strings.TrimSpace(row.media + " " + s.ID + " (" + s.Style + ")")
		}
	}
	return row
}

func treeIntents(ctx context.Context, t *testing.T, c *Client) string {
	t.Helper()
	var parts []string
	for _, k := range knownIntents {
		var values []string
		for _, v := range k.values {
			attrs, _, err := c.MapIntents(ctx, map[string]string{k.name: v})
			if err != nil {
				t.Fatal(err)
			}
			if len(attrs) > 0 {
				values = append(values, v)
			}
		}
		if len(values) > 0 {
			parts = append(parts, k.name+" "+strings.Join(values, "/"))
		}
	}
	return strings.Join(parts, ", ")
}

// diagnosticWords names what can be collected, and what shows a host that starts.
func diagnosticWords(ctx context.Context, t *testing.T, c *Client) string {
	t.Helper()
	list, err := c.Diagnostics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, d := range list {
		words = append(words, d.Name+" ("+d.Known+")")
	}
	if _, err := c.Screen(ctx); err == nil {
		words = append(words, "screen (documented)")
	}
	progress, err := c.BootProgress(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if progress.Code != "" {
		words = append(words, "POST code (seen)")
	}
	if progress.State != "" || progress.OEM != "" {
		words = append(words, "boot progress (seen)")
	}
	way, err := c.consoleWay(ctx)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case way.ssh != nil:
		words = append(words, "console by SSH (seen)")
	case way.ipmi != "":
		words = append(words, "console by IPMI (seen)")
	}
	return strings.Join(words, ", ")
}

// portWay tries the machine's own ports until one can be booted from.
func portWay(ctx context.Context, t *testing.T, c *Client) string {
	t.Helper()
	inv, err := c.Inventory(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, mac := range append(inv.System.NICMACs, nicMACs(inv)...) {
		plan, err := c.PlanBoot(ctx, Boot{Target: "Pxe", MAC: mac})
		switch {
		case err != nil:
		case len(plan.BIOS) > 0:
			return "BIOS PxeDev1Interface"
		default:
			return plan.Override.Target
		}
	}
	return "no"
}

func nicMACs(inv Inventory) []string {
	var all []string
	for _, n := range inv.NICs {
		all = append(all, n.MACs...)
	}
	return all
}
