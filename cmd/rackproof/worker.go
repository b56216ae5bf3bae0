package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision/temporal"
)

func workerCommand(a *app) *cobra.Command {
	var setup bool
	var secrets string
	cmd := &cobra.Command{
		Use:   "worker --temporal HOST:PORT --site NAME",
		Short: "A Temporal worker beside one management network",
		Long: `A Temporal worker beside one management network: it does the steps of the runs that
were submitted with ` + "`run --engine temporal --site NAME`" + `. A site may have many; a step
whose worker is lost goes to another one, which asks the machine before it acts.

Credentials are resolved here: secret:NAME is the line "NAME: value" of --secrets, a
YAML file that nobody else may read. Workers of one site share --evidence, so that one
goes on with what another has measured.

--setup registers the search attributes RackproofBatch, RackproofRack and
RackproofResult in the namespace, once, and ends.

Example:
  rackproof worker --temporal temporal.example.net:7233 --temporal-tls --setup
  rackproof worker --temporal temporal.example.net:7233 --temporal-tls --site fra2 --secrets /etc/rackproof/secrets.yaml --evidence /srv/rackproof

` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.at.server == "" {
				return usageError(errors.New("a worker needs the server's address"), "--temporal HOST:PORT")
			}
			return a.work(cmd.Context(), setup, secrets)
		},
	}
	a.serverFlags(cmd)
	cmd.Flags().BoolVar(&setup, "setup", false, "register the search attributes, and end")
	cmd.Flags().StringVar(&secrets, "secrets", "", "`file` with the values of secret:NAME (default: secrets.yaml in the state folder)")
	return cmd
}

func (a *app) work(ctx context.Context, setup bool, secrets string) error {
	c, err := a.newCarry()
	if err != nil {
		return err
	}
	opt, err := a.temporalOptions(c.state)
	if err != nil {
		return err
	}
	opt.Secrets, opt.Log = or(secrets, filepath.Join(c.state, "secrets.yaml")), c.logger()
	if !setup {
		if err := shareRuns(c.state, a.at.evidence); err != nil {
			return usageError(err, "give another --state, or --evidence")
		}
		bench := c.bench()
		defer func() { _ = bench.Close() }()
		opt.Worker = bench
	}
	e, err := temporal.Open(ctx, opt)
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	if setup {
		if err := e.Setup(ctx); err != nil {
			return err
		}
		a.printf("namespace %s is set up\n", a.at.space)
		return nil
	}
	a.progress("worker of site %s on %s, namespace %s; interrupt ends it, and its steps go to another one", a.at.site, a.at.server, a.at.space)
	return e.Serve(ctx)
}

// shareRuns makes the state folder keep its runs in a folder that others share.
func shareRuns(state, shared string) error {
	if shared == "" {
		return nil
	}
	abs, err := filepath.Abs(shared)
	if err != nil {
		return err
	}
	target, link := filepath.Join(abs, "runs"), filepath.Join(state, "runs")
	if err := os.MkdirAll(target, 0o700); err != nil {
		return err
	}
	if there, err := os.Readlink(link); err == nil && there == target {
		return nil
	}
	if _, err := os.Lstat(link); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already and is not %s", link, target)
	}
	return os.Symlink(target, link)
}
