package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
	"github.com/rackproof/rackproof/provision/temporal"
)

// engine is what verbs need of one, whichever it is.
type engine interface {
	provision.Engine
	provision.Teller
	Run(context.Context, provision.RunID) (provision.Run, error)
	Close() error
}

// where says which engine keeps the runs.
type where struct {
	engine   string // journal, temporal
	server   string
	space    string // namespace
	site     string
	evidence string // folder that the site's workers share with us
	secured  protection
}

const (
	onJournal  = "journal"
	onTemporal = "temporal"
)

// engineFlags adds to a verb the flags that choose the engine.
func (a *app) engineFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.at.engine, "engine", onJournal, "engine that keeps the runs (`journal|temporal`)")
	a.serverFlags(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error { return a.at.check() }
}

// serverFlags adds those of a Temporal server and a site.
func (a *app) serverFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.at.server, "temporal", "", "the Temporal server, `host:port`")
	a.at.secured.flags(f)
	f.StringVar(&a.at.space, "namespace", "default", "Temporal `namespace`")
	f.StringVar(&a.at.site, "site", "default", "site whose workers carry the run, by `name`")
	f.StringVar(&a.at.evidence, "evidence", "", "`folder` that the workers of the site share, for evidence and reports")
}

func (w where) check() error {
	switch {
	case w.engine != onJournal && w.engine != onTemporal:
		return usageError(fmt.Errorf("--engine %s: there are journal and temporal", w.engine), "")
	case w.engine == onTemporal && w.server == "":
		return usageError(errors.New("--engine temporal needs the server's address"), "--temporal HOST:PORT")
	case w.engine == onJournal && (w.server != "" || w.evidence != ""):
		return usageError(errors.New("--temporal and --evidence go with --engine temporal"), "")
	}
	return nil
}

func (w where) remote() bool { return w.engine == onTemporal }

// temporalOptions are those of a Temporal engine.
func (a *app) temporalOptions(state string) (temporal.Options, error) {
	w := a.at
	secured, err := w.secured.config()
	if err == nil && secured == nil && !own(w.server) {
		a.progress("the connection to %s is not encrypted: whoever listens sees addresses and serial numbers; --temporal-tls or --temporal-ca FILE protects it", w.server)
	}
	return temporal.Options{Address: w.server, Namespace: w.space, Site: w.site, State: state, HostLocks: provision.HostLocks(), TLS: secured}, err
}

// look opens the engine to read it and to ask of runs, without a worker.
func (c *carry) look(ctx context.Context) (engine, error) {
	if c.app.at.remote() {
		opt, err := c.app.temporalOptions(c.state)
		if err != nil {
			return nil, err
		}
		return temporal.Open(ctx, opt)
	}
	return journal.Open(ctx, c.state, journal.Options{})
}

// evidence is where runs/ lies that holds evidence and reports.
func (c *carry) evidence() string { return or(c.app.at.evidence, c.state) }

// carriedBy says who carries a run now, "" for nobody.
func (c *carry) carriedBy(ctx context.Context, e engine, id provision.RunID) string {
	t, ok := e.(*temporal.Engine)
	if !ok {
		return ownerAlive(c.state, id)
	}
	if served, err := t.Served(ctx); err != nil || !served {
		return ""
	}
	return "a worker of site " + c.app.at.site
}

// watchRemote shows a run that workers elsewhere carry, until it has settled or ctx
// ends; the run goes on then.
func (c *carry) watchRemote(ctx context.Context, id provision.RunID, sel provision.Selector) (*provision.Run, error) {
	e, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = e.Close() }()
	run, err := e.Run(ctx, id) // what happened before is not shown again
	if err != nil || settled(&run, sel) {
		return &run, err
	}
	if c.carriedBy(ctx, e, id) == "" {
		c.app.progress("no worker serves site %s: start one beside its machines, rackproof worker --temporal %s --namespace %s --site %s", c.app.at.site, c.app.at.server, c.app.at.space, c.app.at.site)
	}
	return &run, c.show(ctx, e, &run, sel)
}
