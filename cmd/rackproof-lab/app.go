package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision/lab"
)

// Exit codes, as every --help states them.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

const exitHelp = `Exit codes: 0 done, 1 the lab failed or none runs, 2 usage or bad input.`

// app is what every verb shares.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	json           bool
	dir            string
}

// Main runs the command line and returns the exit status.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return a.report(root.ExecuteContext(ctx))
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "rackproof-lab",
		Short: "Real machines without hardware, to try rackproof on",
		Long: "rackproof-lab builds machines in QEMU, each with a BMC that speaks IPMI and Redfish,\n" +
			"in a network namespace that touches nothing of this computer. It needs root.\n\n" +
			"Example:\n  rackproof-lab up\n  rackproof-lab run -- ipmitool -I lanplus -C 3 -H 10.77.1.11 -U admin -E chassis status\n" +
			"  rackproof-lab down\n\n" + exitHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := root.PersistentFlags()
	f.BoolVar(&a.json, "json", false, "results as JSON on stdout")
	f.StringVar(&a.dir, "dir", lab.DefaultDir, "state `folder` of the lab")
	root.AddCommand(upCommand(a), downCommand(a), statusCommand(a), faultCommand(a), consoleCommand(a), runCommand(a), serveCommand(a), chassisCommand(a), lanConfigCommand(a))
	return root
}

// failure is an error as --json prints it.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// report prints err and returns the exit status.
func (a *app) report(err error) int {
	if err == nil {
		return exitDone
	}
	if e, ok := errors.AsType[exitStatus](err); ok {
		return int(e)
	}
	code, name := exitFailed, "failed"
	if isUsage(err) {
		code, name = exitUsage, "usage"
	}
	if a.json {
		_ = a.printJSON(map[string]failure{"error": {Code: name, Message: err.Error()}})
		return code
	}
	_, _ = fmt.Fprintln(a.stderr, "rackproof-lab: "+err.Error())
	return code
}

// usage is bad input that another package found.
type usage struct{ error }

// isUsage recognises the lab's own usage errors and those cobra makes.
func isUsage(err error) bool {
	if _, ok := errors.AsType[*lab.UsageError](err); ok {
		return true
	}
	if _, ok := errors.AsType[usage](err); ok {
		return true
	}
	for _, prefix := range []string{"unknown command", "unknown flag", "unknown shorthand", "flag needs", "invalid argument", "accepts ", "requires "} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (a *app) printf(format string, args ...any) { _, _ = fmt.Fprintf(a.stdout, format, args...) }

func (a *app) progress(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stderr, format+"\n", args...)
}

// serveCommand is the supervisor. `up` starts it in its namespaces.
func serveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "serve", Hidden: true, Args: cobra.NoArgs,
		Short: "The supervisor, which `up` starts",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return lab.Serve(cmd.Context(), slog.New(slog.NewTextHandler(a.stderr, nil)))
		},
	}
}
