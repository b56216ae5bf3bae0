package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/redfish"
)

const captureLong = `Read the whole Redfish tree of the BMC into a .tar.gz that ` + "`rackproof sim --tree`" + ` serves.
Nothing is changed and no action is called. Passwords, keys, tokens, SNMP communities,
licence keys, names of users and e-mail addresses are taken out; serials, MACs, UUIDs,
addresses and host names stay, unless --anonymise gives them others of the same form.
Look through it before you give it away. capture.json in it names what is missing. Where
the BMC stopped answering, what was read is kept and the exit code is 4.

Examples:
  rackproof bmc 10.0.12.7 capture --out r12u07.tar.gz
  rackproof bmc 10.0.12.7 capture --anonymise
  rackproof sim --tree r12u07.tar.gz --listen 127.0.0.1:8443

`

func (a *app) bmcCapture(o *bmcOptions) *cobra.Command {
	var out string
	var opts redfish.CaptureOptions
	cmd := &cobra.Command{
		Use:   "capture",
		Short: "Store the whole Redfish tree, without secrets",
		Long:  captureLong + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				out = "bmc-" + strings.NewReplacer(":", "-", "[", "", "]", "").Replace(o.addr) + ".tar.gz"
			}
			if !strings.HasSuffix(out, ".tar.gz") {
				return usageError(fmt.Errorf("--out %s: a capture is a .tar.gz", out), "rackproof bmc ADDR capture --out FILE.tar.gz")
			}
			if _, err := os.Lstat(out); err == nil {
				return usageError(fmt.Errorf("%s is there already", out), "name another with --out")
			}
			o.silent = true // it tells more than that it waits
			return a.withRedfish(cmd.Context(), o, false, func(c *redfish.Client) error { return a.captureBMC(cmd.Context(), c, out, opts) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "`file` to write (default: bmc-ADDR.tar.gz)")
	f.BoolVar(&opts.Anonymise, "anonymise", false, "give serials, MACs, UUIDs, addresses and host names others of the same form")
	f.BoolVar(&opts.Schemas, "schemas", false, "also the JSON schemas")
	f.IntVar(&opts.LogEntries, "log-entries", 1000, "at most so many `entries` of each log")
	return cmd
}

func (a *app) captureBMC(ctx context.Context, c *redfish.Client, out string, opts redfish.CaptureOptions) error {
	opts.Progress = every(waitWord, func(read, known int) { a.progress("%d of %d resources known so far", read, known) })
	got, err := c.Capture(ctx, opts)
	if err != nil {
		return err
	}
	if err := writeCapture(got, out); err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(struct {
			File string `json:"file"`
			*redfish.Capture
		}{out, got})
	} else {
		a.printf("%s: %d resources of %s in %s, %d refused, %d left out\n", out, got.Resources, or(got.Model, "an unnamed machine"),
			time.Duration(got.Seconds*float64(time.Second)).Round(time.Second/10), len(got.Refused), len(got.Skipped))
	}
	if err != nil || got.Partial == "" {
		return err
	}
	a.progress("not whole: %s", got.Partial)
	return exitWith(exitIncomplete)
}

// every passes on the first call, then one for each while.
func every(while time.Duration, tell func(read, known int)) func(read, known int) {
	var mu sync.Mutex
	last := time.Now()
	return func(read, known int) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) >= while {
			last = time.Now()
			tell(read, known)
		}
	}
}

// writeCapture puts the archive in place when it is whole.
func writeCapture(c *redfish.Capture, out string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(out), ".rackproof-capture-*")
	if err != nil {
		return usageError(fmt.Errorf("--out: %w", err), "name a folder that is there and can be written")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	folder := strings.TrimSuffix(filepath.Base(out), ".tar.gz")
	if err := errors.Join(c.WriteTarGz(f, folder), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), out)
}
