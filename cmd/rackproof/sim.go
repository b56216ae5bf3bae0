package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin/nodetest"
	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision/simrack"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// simOptions are the flags of `rackproof sim`.
type simOptions struct {
	tree, listen, model, out string
	machines                 int
	faults                   []string
	seed                     uint64
}

// simCommand is `rackproof sim`: simulated BMCs for as long as it runs.
func simCommand(a *app) *cobra.Command {
	var o simOptions
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Serve simulated machines, or captured trees as BMCs that behave",
		Long: "Serve simulated machines (BMC and host, on loopback) until interrupted. With --out it\n" +
			"writes a batch file and the credentials that it refers to. With --tree it serves a\n" +
			"captured Redfish tree instead, as a BMC whose power, boot override and BIOS behave.\n" +
			"A fault is NAME for the first machine or MACHINE=NAME.\n\n" +
			"Simulated machines print a control URL; over it a script plays the hands:\n" +
			"  GET  /machines              what there is, with its fault\n" +
			"  GET  /acts                  what was done to each machine, and how often\n" +
			"  GET  /batch?name=NAME       a batch file\n" +
			"  GET  /credentials           the environment variables it refers to\n" +
			"  POST /machines/NAME/fault   {\"fault\": \"gpu-x8\"}: breaks it\n" +
			"  POST /machines/NAME/repair  puts everything right\n\n" +
			"Examples:\n  rackproof sim --machines 4 --fault gpu-x8 --out /tmp/rack\n" +
			"  rackproof sim --tree captures/supermicro.tar.gz --listen 127.0.0.1:8443\n" +
			"  curl -X POST http://127.0.0.1:9000/machines/r12u07/repair    # with --listen 127.0.0.1:9000\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.machines < 1 {
				return usageError(errors.New("--machines must be 1 or more"), "")
			}
			if o.tree != "" {
				return a.simTree(cmd.Context(), o)
			}
			return a.simRack(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.tree, "tree", "", "captured Redfish tree: a `folder` or .tar.gz")
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` of the first BMC of a tree, further ones on the ports behind it; without --tree, of the control interface")
	f.IntVar(&o.machines, "machines", 1, "how many")
	f.StringArrayVar(&o.faults, "fault", nil, "[MACHINE=]`NAME` of a fault; may be repeated")
	f.StringVar(&o.model, "model", "", "hardware profile of the simulated machines (default hgx-h100-8)")
	f.Uint64Var(&o.seed, "seed", 1, "what serial numbers are drawn from")
	f.StringVar(&o.out, "out", "", "`folder` for batch.yaml and credentials.env")
	return cmd
}

// simulated is what `sim` prints once everything listens.
type simulated struct {
	Control     string            `json:"control,omitempty"`
	Machines    []simrack.Info    `json:"machines,omitempty"`
	BMCs        []string          `json:"bmcs,omitempty"`
	Batch       string            `json:"batch,omitempty"` // the file's text
	Credentials map[string]string `json:"credentials"`     // environment variables
}

// simRack serves simulated machines.
func (a *app) simRack(ctx context.Context, o simOptions) error {
	specs := make([]simrack.MachineSpec, o.machines)
	for i := range specs {
		specs[i] = simrack.MachineSpec{Model: o.model}.Placed(i)
	}
	if err := plantFaults(specs, o.faults); err != nil {
		return usageError(err, "")
	}
	rack, err := simrack.Start(ctx, simrack.Options{Machines: specs, Seed: o.seed, Log: a.log})
	if err != nil {
		return usageError(err, "")
	}
	defer func() { _ = rack.Close() }()
	control, stop, err := rack.Control(ctx, o.listen)
	if err != nil {
		return usageError(err, "")
	}
	defer func() { _ = stop() }()
	s := simulated{Control: control, Machines: rack.Machines(), Batch: string(rack.BatchYAML("simulated")), Credentials: rack.Credentials()}
	if err := a.announce(s, o.out); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// plantFaults reads [MACHINE=]NAME. A name may hold '=' itself ("slow=200ms").
func plantFaults(specs []simrack.MachineSpec, faults []string) error {
	names := slices.Concat(nodetest.FaultNames(), redfishtest.FaultNames())
	for _, f := range faults {
		i := 0
		if machine, name, ok := strings.Cut(f, "="); ok {
			if at := slices.IndexFunc(specs, func(s simrack.MachineSpec) bool { return s.Name == machine }); at >= 0 {
				i, f = at, name
			}
		}
		if err := knownFault(f, names); err != nil {
			return err
		}
		if specs[i].Fault != "" {
			return fmt.Errorf("machine %s has the fault %s already; one machine has one fault", specs[i].Name, specs[i].Fault)
		}
		specs[i].Fault = f
	}
	return nil
}

// knownFault refuses a fault that there is not, and names the nearest and all.
func knownFault(spec string, names []string) error {
	name, _, _ := strings.Cut(spec, "*")
	name, _, _ = strings.Cut(name, "=")
	if slices.Contains(names, name) {
		return nil
	}
	near := ""
	if n := profiles.Nearest(name, names); n != "" {
		near = ", did you mean " + n + "?"
	}
	return fmt.Errorf("--fault %s: no such fault or machine%s There are: %s", spec, or(near, "."), strings.Join(names, ", "))
}

// simTree serves a captured tree, once for each machine.
func (a *app) simTree(ctx context.Context, o simOptions) (err error) {
	for _, f := range o.faults {
		if err := knownFault(f, redfishtest.FaultNames()); err != nil {
			return usageError(err, "")
		}
	}
	captured, err := redfishtest.LoadCapture(o.tree)
	if err != nil {
		return usageError(err, "give a folder or .tar.gz that holds redfish/v1/…/index.json, as `rackproof bmc ADDR capture` writes it")
	}
	host, portText, err := net.SplitHostPort(o.listen)
	if err != nil {
		return usageError(fmt.Errorf("--listen: %w", err), "write --listen 127.0.0.1:8443")
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return usageError(fmt.Errorf("--listen: port %q is no number", portText), "write --listen 127.0.0.1:8443")
	}
	s := simulated{Credentials: map[string]string{"BMC_USER": "admin", "BMC_PASSWORD": "password"}}
	var bmcs []*redfishtest.BMC
	defer func() {
		var errs *multierror.Error
		for _, b := range bmcs {
			errs = multierror.Append(errs, b.Close())
		}
		err = errors.Join(err, errs.ErrorOrNil())
	}()
	for i := range o.machines {
		addr := net.JoinHostPort(host, strconv.Itoa(port))
		if port != 0 {
			addr = net.JoinHostPort(host, strconv.Itoa(port+i))
		}
		opts := redfishtest.Options{Tree: captured.Tree, Refused: captured.Refused, Listen: addr, Log: a.log}
		if i == 0 {
			opts.Faults = o.faults
		}
		b, err := redfishtest.Start(ctx, opts)
		if err != nil {
			return usageError(err, "")
		}
		bmcs = append(bmcs, b)
		s.BMCs = append(s.BMCs, b.Addr())
	}
	if err := a.announce(s, o.out); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// announce says where everything listens, and writes the files of --out.
func (a *app) announce(s simulated, out string) error {
	if out != "" {
		if err := writeSim(s, out); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(s)
	}
	for _, m := range s.Machines {
		a.printf("%-8s %s  BMC %-15s  host %s:%d  serial %s  %s\n", m.Name, m.Profile, m.BMC, m.Host, m.Port, m.Serial, m.Fault)
	}
	for _, b := range s.BMCs {
		a.printf("BMC %s  user %s  password %s\n", b, s.Credentials["BMC_USER"], s.Credentials["BMC_PASSWORD"])
	}
	if s.Control != "" {
		a.printf("control %s\n", s.Control)
	}
	switch {
	case out != "" && s.Batch != "":
		a.printf("batch %[1]s\nnext: . %[2]s && rackproof run -f %[1]s\n", filepath.Join(out, "batch.yaml"), filepath.Join(out, "credentials.env"))
	case s.Batch != "":
		a.printf("next: --out FOLDER writes a batch file and its credentials\n")
	}
	a.progress("simulated; ends with Ctrl-C")
	return nil
}

// writeSim writes the batch file and a file of credentials for a shell to read.
func writeSim(s simulated, out string) error {
	if err := os.MkdirAll(out, 0o700); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	var env strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Credentials)) {
		fmt.Fprintf(&env, "export %s='%s'\n", name, strings.TrimSpace(s.Credentials[name]))
	}
	if err := os.WriteFile(filepath.Join(out, "credentials.env"), []byte(env.String()), 0o600); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if s.Batch == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(out, "batch.yaml"), []byte(s.Batch), 0o600); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}
