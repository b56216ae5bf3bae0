package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

// discoverOptions are the flags of `rackproof discover`.
type discoverOptions struct {
	leases, interfaces, ouis []string
	macs, out                string
	rate                     int
}

const discoverLong = `Find BMCs, tell which machine each is, and write a machine list for a batch file.
Nothing is logged in to: each address gets one connection to TCP 443 for the
Redfish service root, and a presence ping to UDP 623. What cannot be told that
way stays empty.

Where to look must be said, any of these together:
  --leases FILE      addresses in a lease file of dnsmasq, ISC dhcpd or Kea
  --interface IF     who is on that link: SSDP, IPv6 link-local, the kernel's
                     neighbours (Linux)
  ADDRESS, NETWORK   10.0.12.7, 10.0.12.7:8443, 10.0.12.0/24 (up to a /18)

--macs FILE says which machine is which: a line each with the BMC's MAC or the
machine's serial (service tag), then name, rack and unit; or a table whose first
line names its columns (mac, serial, name, rack, u). What of it is not found is
named; then the exit code is 5. With --interface the MACs are also looked for at
the link-local addresses that go with them.

Examples:
  rackproof discover --interface eth1 --macs rack12.txt --out rack12.yaml
  rackproof discover --leases /var/lib/misc/dnsmasq.leases --oui 7c:c2:55
  rackproof discover 10.0.12.0/24 --rate 20 --json

`

func discoverCommand(a *app) *cobra.Command {
	var o discoverOptions
	cmd := &cobra.Command{
		Use:   "discover [ADDRESS|NETWORK…]",
		Short: "Find BMCs and write a machine list",
		Long:  discoverLong + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := o.search(args)
			if err != nil {
				return usageError(err, "rackproof discover --help")
			}
			return a.discover(cmd.Context(), o, s)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.leases, "leases", nil, "lease `FILE` of a DHCP server; may be repeated")
	f.StringArrayVar(&o.interfaces, "interface", nil, "network interface `IF` whose link is asked; may be repeated")
	f.StringVar(&o.macs, "macs", "", "`FILE` that says which MAC or serial is which machine")
	f.StringSliceVar(&o.ouis, "oui", nil, "ask only what has a MAC of this `OUI`, such as 7c:c2:55, where leases or neighbours tell the MAC")
	f.IntVar(&o.rate, "rate", 50, "addresses asked a second, at most")
	f.StringVar(&o.out, "out", "", "`FILE` for the machine list (YAML); must not be there yet")
	return cmd
}

// search reads all files and addresses before anything is sent.
func (o discoverOptions) search(args []string) (provision.Search, error) {
	s := provision.Search{Interfaces: o.interfaces, Rate: o.rate}
	if len(o.leases)+len(o.interfaces)+len(args) == 0 {
		return s, errors.New("where shall it look? --leases FILE, --interface IF, or an address or network")
	}
	if o.rate < 1 || o.rate > 1000 {
		return s, fmt.Errorf("--rate %d: want 1 to 1000 addresses a second", o.rate)
	}
	if err := mustBeNew(o.out); err != nil {
		return s, err
	}
	var err error
	if s.Sightings, err = provision.ParseTargets(args); err != nil {
		return s, err
	}
	for _, file := range o.leases {
		b, err := os.ReadFile(file)
		if err != nil {
			return s, fmt.Errorf("--leases: %w", err)
		}
		list, err := provision.ParseLeases(file, b, time.Now())
		if err != nil {
			return s, err
		}
		s.Sightings = append(s.Sightings, list...)
	}
	if o.macs != "" {
		b, err := os.ReadFile(o.macs)
		if err != nil {
			return s, fmt.Errorf("--macs: %w", err)
		}
		if s.Labels, err = provision.ParseLabels(o.macs, b); err != nil {
			return s, err
		}
	}
	for _, word := range o.ouis {
		oui, err := provision.ParseOUI(word)
		if err != nil {
			return s, fmt.Errorf("--oui: %w", err)
		}
		s.OUIs = append(s.OUIs, oui)
	}
	return s, nil
}

func (a *app) discover(ctx context.Context, o discoverOptions, s provision.Search) error {
	state, err := a.state()
	if err != nil {
		return err
	}
	s.Pins = provision.OpenKnownBMCs(state)
	next := time.Now().Add(firstWord)
	s.Progress = func(asked, of int) {
		if now := time.Now(); !now.Before(next) {
			next = now.Add(nextWord)
			a.progress("%d of %d addresses asked, %d a second", asked, of, s.Rate)
		}
	}
	found, err := provision.Discover(ctx, s)
	if errors.Is(err, context.Canceled) {
		return &exitError{code: exitNotFinished, Code: "stopped", Message: "stopped; nothing was changed anywhere", err: err}
	}
	if err != nil {
		return usageError(err, "rackproof discover --help")
	}
	if o.out != "" {
		if err := writeNew(o.out, found.BatchYAML()); err != nil {
			return usageError(fmt.Errorf("--out: %w", err), "")
		}
	}
	if a.json {
		err = a.foundJSON(found)
	} else {
		err = a.printFound(found)
		if o.out != "" {
			a.progress("machine list %s: put name and profile above it, then rackproof plan -f %s", o.out, o.out)
		}
	}
	if err == nil && (len(found.Missing) > 0 || len(found.BMCs) == 0) {
		return exitWith(exitNotFinished)
	}
	return err
}

// mustBeNew refuses a file for results that is there already; "" is none.
func mustBeNew(out string) error {
	if _, err := os.Lstat(out); out != "" && err == nil {
		return fmt.Errorf("--out %s: there is such a file; give another name", out)
	}
	return nil
}

// writeNew writes a file that is not there yet.
func writeNew(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// foundJSON prints one object a line, each with one key.
func (a *app) foundJSON(found provision.Found) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	var errs []error
	line := func(kind string, v any) { errs = append(errs, enc.Encode(map[string]any{kind: v})) }
	for _, d := range found.BMCs {
		line("bmc", d)
	}
	for _, o := range found.Odd {
		line("odd", o)
	}
	for _, l := range found.Missing {
		line("missing", l)
	}
	for _, n := range found.Notes {
		line("note", n)
	}
	line("summary", map[string]int{"addresses": found.Asked, "bmcs": len(found.BMCs), "odd": len(found.Odd), "missing": len(found.Missing)})
	return errors.Join(errs...)
}

func (a *app) printFound(found provision.Found) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, d := range found.BMCs {
		what := strings.TrimSpace(or(d.Vendor, d.Software) + " " + d.Model)
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", or(d.Name, "?"), or(d.Where(), "?"), d.Addr, or(d.MAC, "MAC ?"), oneLine(or(what, "?")),
			"S/N "+oneLine(or(d.Serial, "?")), speaks(d), "cert "+or(d.SHA256[:min(16, len(d.SHA256))], "?"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, d := range found.BMCs {
		for _, odd := range d.Odd {
			a.printf("odd: %s %s: %s\n", or(d.Name, "?"), d.Addr, oneLine(odd))
		}
	}
	for _, o := range found.Odd {
		a.printf("odd: %s: %s\n", o.Addr, oneLine(o.What))
	}
	for _, l := range found.Missing {
		a.printf("not found: %s %s%s (%s:%d)\n", or(l.Name, "?"), l.MAC, serialWord(l), l.Pos.File, l.Pos.Line)
	}
	for _, n := range found.Notes {
		a.printf("not looked at: %s\n", n)
	}
	a.printf("asked %d · BMCs %d · answered oddly %d · not found %d\n", found.Asked, len(found.BMCs), len(found.Odd), len(found.Missing))
	return nil
}

// speaks names the protocols that answered.
func speaks(d provision.Discovered) string {
	var words []string
	if d.HasRedfish() {
		words = append(words, strings.TrimSpace("Redfish "+d.Redfish))
	}
	if d.IPMI != nil && *d.IPMI {
		words = append(words, "IPMI")
	}
	return strings.Join(words, "+")
}

func serialWord(l provision.Label) string {
	if l.Serial == "" {
		return ""
	}
	return " S/N " + l.Serial
}
