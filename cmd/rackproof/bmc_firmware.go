package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/redfish"
)

func (a *app) bmcFirmware(o *bmcOptions) *cobra.Command {
	var compare, folder string
	cmd := &cobra.Command{
		Use:   "firmware",
		Short: "List the firmware that runs, compare it, install it",
		Long: "List the firmware that runs. With --compare it is held against the versions that a\n" +
			"profile states, or the newest of a firmware folder (PROFILE/COMPONENT/VERSION/FILE);\n" +
			"what is older ends with exit code 3.\n\n" +
			"Examples:\n  rackproof bmc 10.0.12.7 firmware\n  rackproof bmc 10.0.12.7 firmware --compare hgx-h100-8 --folder fw\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.firmwareProfile(compare, folder)
			if err != nil {
				return usageError(err, "rackproof bmc ADDR firmware --help")
			}
			return a.withBMC(cmd.Context(), o, false, func(c bmcClient) error {
				list, err := c.Firmware(cmd.Context())
				if err != nil {
					return err
				}
				if p != nil {
					return a.printComparison(compareFirmware(list, p))
				}
				return a.printFirmware(list)
			})
		},
	}
	cmd.Flags().StringVar(&compare, "compare", "", "`profile` whose versions are wanted")
	cmd.Flags().StringVar(&folder, "folder", "", "`folder` whose newest images are wanted, with --compare")
	cmd.AddCommand(a.bmcUpdate(o))
	return cmd
}

// firmwareProfile is the profile to compare with; nil where none was named.
func (a *app) firmwareProfile(name, folder string) (*profiles.Profile, error) {
	if name == "" {
		if folder != "" {
			return nil, fmt.Errorf("--folder %s: name the machine's profile with --compare: images are made for a model", folder)
		}
		return nil, nil
	}
	p, err := a.library().Profile(name)
	if err != nil || folder == "" {
		return p, err
	}
	images, err := provision.FirmwareImages(folder, p.Name)
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for component, image := range images {
		versions[component] = image.Version
	}
	return p.WithFirmware(versions, profiles.Position{File: folder})
}

// comparison is one entry of a component that a profile knows.
type comparison struct {
	Component string `json:"component"`
	Entry     string `json:"entry"`
	Has       string `json:"has"`
	Wants     string `json:"wants,omitempty"`
	Relation  string `json:"relation,omitempty"` // min, equal, one_of
	Result    string `json:"result"`             // ok, older, differs, unknown, not listed, not stated
}

func compareFirmware(list []redfish.Firmware, p *profiles.Profile) []comparison {
	out := []comparison{}
	for _, name := range p.FirmwareOrder() {
		want := p.Firmware[name]
		found := false
		for _, f := range list {
			if want.Names(f.ID, f.Name) {
				found = true
				out = append(out, compareEntry(name, f, want))
			}
		}
		if !found && want.Version.Set() {
			out = append(out, comparison{Component: name, Wants: want.Version.String(), Relation: string(want.Version.Relation), Result: "not listed"})
		}
	}
	return out
}

func compareEntry(component string, f redfish.Firmware, want profiles.Firmware) comparison {
	version, known := want.VersionIn(f.Version)
	c := comparison{Component: component, Entry: f.ID, Has: version, Result: "not stated"}
	if !known {
		c.Has = f.Version
	}
	if !want.Version.Set() {
		return c
	}
	c.Wants, c.Relation = want.Version.String(), string(want.Version.Relation)
	holds, comparable := want.Holds(version)
	switch {
	case !known || !comparable:
		c.Result = "unknown"
	case holds:
		c.Result = "ok"
	case want.Version.Relation == profiles.Min:
		c.Result = "older"
	default:
		c.Result = "differs"
	}
	return c
}

func (a *app) printComparison(list []comparison) error {
	code := exitPassed
	for _, c := range list {
		switch {
		case c.Result == "older" || c.Result == "differs":
			code = exitHardware
		case code == exitPassed && (c.Result == "unknown" || c.Result == "not listed"):
			code = exitIncomplete
		}
	}
	if a.json {
		if err := a.printJSON(map[string]any{"firmware": list}); err != nil {
			return err
		}
		return exitWith(code)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, c := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.Component, c.Entry, c.Has, strings.TrimSpace(c.Relation+" "+c.Wants), c.Result)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return exitWith(code)
}

func (a *app) printFirmware(list []redfish.Firmware) error {
	if a.json {
		return a.printJSON(map[string]any{"firmware": list})
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, f := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", f.ID, f.Name, f.Version)
	}
	return w.Flush()
}

const updateLong = `Install a firmware image: a file is sent to the BMC, an http URL is fetched by it. The
image is checked against what the BMC offers first; with --dry-run that is all. The update
is followed to its end, also through a restart of the BMC, and is never sent twice: when
the answer is lost, look at its versions and its job queue. What runs only after a reset
of the host is said; nothing is reset here.

Examples:
  rackproof bmc 10.0.12.7 firmware update BMC_11.02.bin --dry-run
  rackproof bmc 10.0.12.7 firmware update BIOS_1.5.bin --target BIOS

`

func (a *app) bmcUpdate(o *bmcOptions) *cobra.Command {
	var targets []string
	var dry bool
	cmd := &cobra.Command{
		Use:   "update FILE|URL",
		Short: "Install a firmware image",
		Long:  updateLong + exitHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.waits = "the BMC installs firmware; do not take its power away"
			image, err := firmwareImage(args[0])
			if err != nil {
				return usageError(err, "rackproof bmc ADDR firmware update --help")
			}
			return a.withRedfish(cmd.Context(), o, !dry, func(c *redfish.Client) error {
				if err := a.clearOf(cmd.Context(), o, c, "firmware"); err != nil {
					return err
				}
				return a.update(cmd.Context(), c, image, targets, dry)
			})
		},
	}
	cmd.Flags().StringSliceVar(&targets, "target", nil, "`id` of the firmware entry that it is for (default: the BMC knows its images)")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "check, and send nothing")
	return cmd
}

func firmwareImage(arg string) (redfish.Image, error) {
	if strings.Contains(arg, "://") {
		return redfish.Image{URL: arg}, nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return redfish.Image{}, fmt.Errorf("firmware image: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return redfish.Image{}, fmt.Errorf("firmware image %s: want a file that is not empty", arg)
	}
	return redfish.Image{Name: filepath.Base(arg), Size: info.Size(), Open: func() (io.ReadCloser, error) { return os.Open(arg) }}, nil
}

func (a *app) update(ctx context.Context, c *redfish.Client, image redfish.Image, targets []string, dry bool) error {
	uris, err := targetURIs(ctx, c, targets)
	if err != nil {
		return err
	}
	image.Targets = uris
	if dry {
		if err := c.CheckUpdate(ctx, image); err != nil {
			return err
		}
		if a.json {
			return a.printJSON(map[string]any{"sent": false, "possible": true})
		}
		a.printf("it could be installed; nothing was sent\n")
		return nil
	}
	job, err := c.Update(ctx, image)
	if err != nil {
		return err
	}
	reset, err := c.WaitUpdate(ctx, job)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"sent": true, "job": job, "host_reset_needed": reset})
	}
	a.printf("the BMC says that it is installed\n")
	if reset {
		a.printf("it runs after a reset of the host: power restart\n")
	}
	a.printf("read the version that runs: firmware\n")
	return nil
}

// targetURIs finds entries of the firmware inventory by their Id.
func targetURIs(ctx context.Context, c *redfish.Client, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := c.Firmware(ctx)
	if err != nil {
		return nil, err
	}
	var uris, known []string
	for _, f := range list {
		known = append(known, f.ID)
		for _, id := range ids {
			if strings.EqualFold(f.ID, id) {
				uris = append(uris, f.URI)
			}
		}
	}
	if len(uris) != len(ids) {
		return nil, fmt.Errorf("--target %s: %w: the BMC lists %s", strings.Join(ids, ","), redfish.ErrBadValue, strings.Join(known, ", "))
	}
	return uris, nil
}
