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
	"github.com/spf13/pflag"

	"github.com/rackproof/rackproof/provision"
)

// intakeOptions are the flags of `rackproof intake`.
type intakeOptions struct {
	find      discoverOptions
	bmc       bmcOptions
	file      string
	out, keep string
	shared    bool
}

const intakeLong = `Compare what was delivered with what was ordered, by the BMCs alone. It reads
inventories; it switches, restarts and sets nothing.

The order is a table (CSV; commas, semicolons or tabs; UTF-8 or UTF-16) with a line a
machine. Its first line names the columns, in any order and spelling that is common:
serial (or service tag; needed), name, rack, u, model, bmc; and of parts: cpus, gpus,
dimms, memory, drives, nics, psus, also as "GPU count", "GPU model", "DIMM size (GiB)",
"PSU W". A cell says how many, what, or both: 8, H100, 32 x 64 GB, 8 x 3.84 TB + 2 x
960 GB. Columns that are not understood are named and compared with nothing; one whose
name begins as a part's ("GPU cnt") is unknown on every machine, until it is renamed or
taken out.

Each machine is found by its serial wherever it answers: at the addresses of a batch
(-f, with its logins), of the column bmc, and where else is said, as with discover:
  ADDRESS, NETWORK   10.0.12.7, 10.0.12.0/24
  --leases FILE      addresses in a lease file
  --interface IF     who is on that link
Every BMC there gets one login. One that says before it that it is no machine of this
order gets no password.

Told are: not found, not read (its BMC keeps us out), differs, unknown (the BMC cannot
tell, which is never "as ordered"), not ordered, as ordered. The exit code is 5 where a
machine is not found, not read or not ordered, 3 where one differs, 4 where something is
unknown. --shared lists others on the same network and does not count them.

Examples:
  rackproof intake po4711.csv 10.0.12.0/24 --out po4711-received.csv
  rackproof intake po4711.csv -f rack12.yaml --keep goods-in/
  rackproof intake po4711.csv --leases /var/lib/misc/dnsmasq.leases --shared --json
    {"machine": {"state": "differs", "serial": "S498765X3", "bmc": "10.0.12.7", "compared": [{"part": "DIMM",
      "ordered": "12 x 64 GB", "here": "11: …", "verdict": "differs", "text": "11 of 12 DIMMs: P1-DIMMH1 missing"}], …}}

`

func intakeCommand(a *app) *cobra.Command {
	o := intakeOptions{bmc: newBMCOptions()}
	cmd := &cobra.Command{
		Use:   "intake ORDER.csv [ADDRESS|NETWORK…]",
		Short: "Compare a delivery with its order, by the BMCs alone",
		Long:  intakeLong + exitHelp,
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			order, err := readOrder(args[0])
			if err != nil {
				return usageError(err, "rackproof intake --help")
			}
			return a.compareGoods(cmd.Context(), o, order, args[1:], intakeWords)
		},
	}
	f := cmd.Flags()
	o.flags(f)
	f.BoolVar(&o.shared, "shared", false, "others than the machines ordered may answer there: list them, and do not count them")
	return cmd
}

// flags are those of every verb that looks at a delivery.
func (o *intakeOptions) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.file, "file", "f", "", "batch `file` whose machines are asked, with its logins")
	f.StringArrayVar(&o.find.leases, "leases", nil, "lease `FILE` of a DHCP server; may be repeated")
	f.StringArrayVar(&o.find.interfaces, "interface", nil, "network interface `IF` whose link is asked; may be repeated")
	f.IntVar(&o.find.rate, "rate", 50, "addresses asked a second, at most")
	f.StringVar(&o.bmc.user, "user", o.bmc.user, "`reference` to the user name of BMCs that no batch names")
	f.StringVar(&o.bmc.password, "password", o.bmc.password, "`reference` to their password")
	f.StringVar(&o.bmc.tls, "tls", o.bmc.tls, "trust in their certificates: `pin|ca:FILE|insecure`")
	f.StringVar(&o.out, "out", "", "`FILE` for the result as a table (CSV, with the order's separator); must not be there yet")
	f.StringVar(&o.keep, "keep", "", "`folder` that takes what each BMC answered, as evidence")
}

// readOrder reads an order.
func readOrder(file string) (*provision.Order, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("order: %w", err)
	}
	order, err := provision.ParseOrder(file, raw)
	if err != nil {
		return nil, err
	}
	for _, l := range order.Lines {
		if l.BMC == "" {
			continue
		}
		if err := checkBMCAddr(l.BMC); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Pos, err)
		}
	}
	return order, nil
}

// newIntake reads all files and references before anything is sent.
func (a *app) newIntake(ctx context.Context, o intakeOptions, order *provision.Order, at []string) (*provision.Intake, error) {
	in := &provision.Intake{Order: order, Keep: o.keep, Shared: o.shared}
	var err error
	if o.file != "" {
		if in.Batch, _, err = a.loadBatch(o.file, "", provision.Selector{}); err != nil {
			return nil, err
		}
	}
	o.find.out = o.out
	searched := len(at)+len(o.find.leases)+len(o.find.interfaces) > 0
	stated := in.Order.Addresses()
	if !searched && in.Batch == nil && !stated {
		return nil, errors.New("where are the BMCs? -f batch.yaml, an address or network, --leases FILE, --interface IF, or a column bmc in the order")
	}
	if searched {
		if in.Search, err = o.find.search(at); err != nil {
			return nil, err
		}
	} else if err := mustBeNew(o.out); err != nil {
		return nil, err
	}
	c, err := a.newCarry()
	if err != nil {
		return nil, err
	}
	in.Search.Pins = provision.OpenKnownBMCs(c.state)
	in.Bench = c.bench()
	in.Login.Login = provision.BMCLogin{User: provision.Ref(o.bmc.user), Password: provision.Ref(o.bmc.password), TLS: o.bmc.tls}
	if !searched && !stated {
		return in, nil
	}
	_, _, err = a.bmcConfig(ctx, &o.bmc) // that they resolve
	return in, err
}

func (a *app) intake(ctx context.Context, o intakeOptions, in *provision.Intake, words goodsWords) error {
	next := time.Now().Add(firstWord)
	word := func(what string) func(n, of int) {
		return func(n, of int) {
			if now := time.Now(); !now.Before(next) {
				next = now.Add(nextWord)
				a.progress("%d of %d %s", n, of, what)
			}
		}
	}
	in.Search.Progress, in.Progress = word("addresses asked"), word("BMCs read")
	goods, err := in.Run(ctx)
	err = errors.Join(err, in.Bench.Close())
	if errors.Is(err, context.Canceled) {
		return &exitError{code: exitNotFinished, Code: "stopped", Message: "stopped; nothing was changed anywhere", err: err}
	}
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := writeNew(o.out, goods.CSV(in.Order.Comma)); err != nil {
			return usageError(fmt.Errorf("--out: %w", err), "")
		}
	}
	if a.json {
		err = a.goodsJSON(goods, in.Order)
	} else {
		err = a.printGoods(goods, in.Order, words)
	}
	if err != nil {
		return err
	}
	return exitWith(goods.ExitCode())
}

// goodsWords are the states of machines as people read them.
type goodsWords struct {
	said  map[provision.Delivered]string
	total string // what is compared
}

var intakeWords = goodsWords{
	said: map[provision.Delivered]string{
		provision.AsExpected: "AS ORDERED", provision.Differs: "DIFFERS", provision.NotTold: "UNKNOWN",
		provision.NotFound: "NOT FOUND", provision.NotRead: "NOT READ", provision.NotExpected: "NOT ORDERED",
	},
	total: "ordered",
}

func (a *app) printGoods(g provision.Goods, order *provision.Order, words goodsWords) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, m := range g.Machines {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", words.said[m.State], oneLine(or(m.Name, "?")), oneLine(or(m.Where(), "?")),
			"S/N "+oneLine(or(m.Serial, "?")), oneLine(or(m.BMC, "BMC ?")), oneLine(foundSummary(m)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, m := range g.Machines {
		head := or(m.Name, or(m.Serial, m.BMC))
		if m.Why != "" {
			a.printf("%s: %s\n", oneLine(head), oneLine(m.Why))
		}
		for _, c := range m.Compared {
			if c.Part == provision.PartLog {
				a.printf("%s: BMC log %s: %s\n", oneLine(head), c.Ordered, oneLine(c.Here))
			}
		}
		for _, c := range m.Open() {
			a.printf("%s: %s: %s\n", oneLine(head), words.said[c.Verdict], oneLine(c.Text))
		}
	}
	for _, n := range g.Notes {
		a.printf("not looked at: %s\n", oneLine(n))
	}
	if len(order.Ignored) > 0 {
		a.printf("columns compared with nothing: %s\n", oneLine(strings.Join(order.Ignored, ", ")))
	}
	a.printf("%s\n", words.summary(g, order))
	return nil
}

// foundSummary says in a few words what was compared and is as ordered.
func foundSummary(m provision.Received) string {
	var words []string
	for _, c := range m.Compared {
		if c.Verdict == provision.AsExpected && c.Part != provision.PartLog {
			words = append(words, c.Part+" "+c.Ordered)
		}
	}
	if len(words) == 0 {
		return m.Model
	}
	return strings.Join(words, " · ")
}

func (w goodsWords) summary(g provision.Goods, order *provision.Order) string {
	list := []string{fmt.Sprintf("%s %d", w.total, len(order.Lines))}
	for _, s := range []provision.Delivered{provision.AsExpected, provision.Differs, provision.NotTold, provision.NotFound, provision.NotRead, provision.NotExpected} {
		if n := g.Count(s); n > 0 || s == provision.AsExpected {
			list = append(list, fmt.Sprintf("%s %d", strings.ToLower(w.said[s]), n))
		}
	}
	return strings.Join(append(list, fmt.Sprintf("exit %d", g.ExitCode())), " · ")
}

// goodsJSON prints one object a line, each with one key.
func (a *app) goodsJSON(g provision.Goods, order *provision.Order) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	var errs []error
	line := func(kind string, v any) { errs = append(errs, enc.Encode(map[string]any{kind: v})) }
	count := map[string]int{"expected": len(order.Lines), "exit": g.ExitCode()}
	for _, m := range g.Machines {
		line("machine", m)
		count[string(m.State)]++
	}
	for _, n := range g.Notes {
		line("note", n)
	}
	for _, c := range order.Ignored {
		line("ignored_column", c)
	}
	line("summary", count)
	return errors.Join(errs...)
}
