package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) bmcConsole(o *bmcOptions) *cobra.Command {
	var file string
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show the host's serial console",
		Long: "Show what the host sends to its serial console, until it is interrupted. Nothing is typed\n" +
			"to the host. It goes over SSH where Redfish names that way, whose host key is pinned on\n" +
			"first use, else over IPMI (Serial over LAN); --protocol ipmi takes that at once. A console\n" +
			"that somebody else has is left to them.\n\n" +
			"Example:\n  rackproof bmc 10.0.12.7 console --out boot.log --for 10m\n\n" + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.json && file == "" {
				return usageError(fmt.Errorf("with --json the console goes to a file"), "rackproof bmc ADDR --json console --out FILE")
			}
			o.silent = true // its words would stand in the console's
			return a.withBMC(cmd.Context(), o, false, func(c bmcClient) error { return a.watchConsole(cmd.Context(), c, file, limit) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "out", "", "append it to a `file` instead of stdout")
	f.DurationVar(&limit, "for", 0, "end after this `time` (default: when interrupted)")
	return cmd
}

func (a *app) watchConsole(ctx context.Context, c bmcClient, file string, limit time.Duration) (err error) {
	out := &counted{to: a.stdout}
	if file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		defer func() {
			if closing := f.Close(); err == nil && closing != nil {
				err = fmt.Errorf("--out: %w", closing)
			}
		}()
		out.to = f
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	start := time.Now()
	if err := c.Console(ctx, out); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"file": file, "bytes": out.n, "seconds": time.Since(start).Round(time.Millisecond).Seconds()})
	}
	if file != "" {
		a.printf("%d bytes in %s\n", out.n, file)
	}
	return nil
}

// counted passes on what is written, and counts it.
type counted struct {
	to io.Writer
	n  int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}
