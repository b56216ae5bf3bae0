package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/burnin/shell"
)

// nodeFlags say which booted machine a verb works on, and how to reach it.
type nodeFlags struct {
	host       string
	local      bool
	port       int
	keys       []string
	hostKeys   []string
	knownHosts []string
	jump       []string
	sshConfig  string
}

func (f *nodeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.host, "host", "H", "", "the machine's SSH: [user@]`host`[:port], or a Host of ~/.ssh/config")
	flags.BoolVar(&f.local, "local", false, "this machine")
	flags.IntVarP(&f.port, "port", "p", 0, "SSH `port`")
	flags.StringArrayVarP(&f.keys, "key", "i", nil, "private SSH key `file` (default: agent, ~/.ssh)")
	flags.StringArrayVar(&f.hostKeys, "host-key", nil, "the host's `key`: SHA256:…, a public key line, or a file with one")
	flags.StringArrayVar(&f.knownHosts, "known-hosts", nil, "known_hosts `file` (default: the user's)")
	flags.StringSliceVarP(&f.jump, "jump", "J", nil, "jump `host`s on the way, outermost first")
	flags.StringVar(&f.sshConfig, "ssh-config", "", "ssh config `file`, or none (default: ~/.ssh/config)")
}

// check refuses what cannot be meant, before anything is contacted.
func (f *nodeFlags) check() error {
	if f.local == (f.host != "") {
		return usageError(errors.New("name one machine"), "-H user@host for one reached over SSH, --local for this one")
	}
	_, err := f.config(nil)
	return err
}

// name is how the machine is called where nothing better is known.
func (f *nodeFlags) name() string {
	if f.local {
		host, err := os.Hostname()
		if err != nil {
			return "this machine"
		}
		return host
	}
	host := f.host[strings.LastIndexByte(f.host, '@')+1:]
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.Trim(host, "[]")
}

func (f *nodeFlags) config(log *slog.Logger) (shell.SSHConfig, error) {
	cfg := shell.SSHConfig{
		Addr: f.host, Port: f.port, KnownHosts: f.knownHosts, Jump: f.jump, ConfigFile: f.sshConfig, Log: log,
	}
	for _, k := range f.keys {
		cfg.KeyFiles = append(cfg.KeyFiles, strings.TrimPrefix(k, "file:"))
	}
	for _, k := range f.hostKeys {
		if err := cfg.Pin(k); err != nil {
			return cfg, usageError(fmt.Errorf("--host-key %.40s: %w", k, err), "give SHA256:…, a line \"ssh-ed25519 AAAA…\", or a .pub file")
		}
	}
	return cfg, nil
}

// open reaches the machine. The shell dials again when the connection is lost;
// note is told.
func (f *nodeFlags) open(ctx context.Context, log *slog.Logger, note func(string)) (burnin.Shell, burnin.Origin, error) {
	if f.local {
		return shell.Local{}, burnin.FromLocal, nil
	}
	cfg, err := f.config(log)
	if err != nil {
		return nil, "", err
	}
	r := &burnin.Redialer{
		Dial: func(ctx context.Context) (burnin.Shell, error) { return shell.DialSSH(ctx, cfg) },
		Note: note, Log: log,
	}
	if err := r.Start(ctx); err != nil {
		return nil, "", nodeError(f.name(), err)
	}
	return r, burnin.FromSSH, nil
}

// nodeError gives an error about a machine its exit code: what is no fault of ours
// and can be tried again is not finished; a wrong key file or flag is bad input.
func nodeError(machine string, err error) error {
	var (
		known  *exitError
		config *shell.ConfigError
		remote *shell.Error
		held   *burnin.HeldError
	)
	e := &exitError{code: exitFailed, Code: "failed", Machine: machine, Message: err.Error(), err: err}
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, burnin.ErrStopped), errors.Is(err, context.Canceled):
		e.code, e.Code = exitNotFinished, "stopped"
		e.Message, e.Next = "stopped; the load is down and nothing is left on the machine", "the same command again goes on"
	case errors.As(err, &held), errors.Is(err, burnin.ErrGPUBusy):
		e.code, e.Code = exitNotFinished, "in_use"
	case errors.Is(err, burnin.ErrNodeLost):
		e.code, e.Code, e.Next = exitNotFinished, "lost", "look at its console or BMC; the same command again goes on"
	case errors.As(err, &remote):
		e.code, e.Code = exitNotFinished, "unreachable"
	case errors.As(err, &config):
		e.code, e.Code = exitUsage, "usage"
	}
	return e
}
