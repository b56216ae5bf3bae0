package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
)

// Exit codes, as CLI.md and every --help state them.
const (
	exitPassed      = 0
	exitFailed      = 1 // rackproof itself failed
	exitUsage       = 2
	exitHardware    = 3
	exitIncomplete  = 4
	exitNotFinished = 5
)

// exitHelp stands at the end of every --help.
const exitHelp = `Exit codes: 0 passed or done, 1 rackproof failed, 2 usage or bad input,
3 hardware failed, 4 incomplete (a required check not proven), 5 not finished
(waits for people, was stopped, or the machine could not be reached; resumable).`

// app is what every verb shares: streams, global flags and where state lives.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	json           bool
	verbose        bool
	stateDir       string
	profileDirs    []string
	at             where
	log            *slog.Logger
}

// exitError carries an exit code with what a person should read. It is printed
// once, by Main.
type exitError struct {
	code    int
	Code    string `json:"code"`
	Machine string `json:"machine,omitempty"`
	Message string `json:"message"`
	Next    string `json:"next,omitempty"`
	quiet   bool   // the verb has printed all there is to say
	err     error
}

func (e *exitError) Error() string {
	if e.Next == "" {
		return e.Message
	}
	return e.Message + "\n  next: " + e.Next
}

func (e *exitError) Unwrap() error { return e.err }

// usageError is bad input: exit 2, and nothing was contacted or changed.
func usageError(err error, next string) error {
	return &exitError{code: exitUsage, Code: "usage", Message: err.Error(), Next: next, err: err}
}

// exitWith ends a verb with code after it has printed its own result.
func exitWith(code int) error {
	if code == exitPassed {
		return nil
	}
	return &exitError{code: code, quiet: true}
}

// Main runs the command line and returns the exit status. It is the whole program
// but for os.Exit, so that tests call it.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	stderr = &shared{to: stderr}
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	return a.report(wrongLine(cmd.CommandPath(), err))
}

// shared is a stream that progress and the log both write to, a line at a time.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(b)
}

// report prints err the way the caller asked for and returns the exit status.
func (a *app) report(err error) int {
	if err == nil {
		return exitPassed
	}
	var e *exitError
	if !errors.As(err, &e) {
		e = &exitError{code: exitFailed, Code: "failed", Message: err.Error()}
		e.ofState(err)
	}
	if e.quiet {
		return e.code
	}
	if a.json {
		_ = a.printJSON(map[string]any{"error": e})
		return e.code
	}
	_, _ = fmt.Fprintln(a.stderr, "rackproof: "+e.Error())
	return e.code
}

// ofState says of an error of the state folder what it is and what to do about it.
func (e *exitError) ofState(err error) {
	if of, ok := errors.AsType[*journal.Error](err); ok {
		e.Next = of.Do
	} else if what, do, ok := provision.DiskTrouble(err); ok {
		e.Message, e.Next = what+": "+e.Message, do
	}
}

// wrongLine makes the error of a wrong command line point to the help of the verb
// at path.
func wrongLine(path string, err error) error {
	e, ours := errors.AsType[*exitError](err)
	switch {
	case err == nil:
		return nil
	case ours && e.code == exitUsage && e.Next == "" && !e.quiet:
		e.Next = path + " --help"
	case !ours && isUsage(err):
		return usageError(err, path+" --help")
	}
	return err
}

// isUsage recognises the errors cobra makes of a wrong command line.
func isUsage(err error) bool {
	msg := err.Error()
	for _, prefix := range []string{"unknown command", "unknown flag", "unknown shorthand", "flag needs", "invalid argument", "accepts ", "requires ", "required flag", "bad flag", "if any flags", "at least one"} {
		if strings.HasPrefix(msg, prefix) {
			return true
		}
	}
	return false
}

// printJSON writes one indented JSON object to stdout.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printf writes to stdout: results only, never progress.
func (a *app) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stdout, format, args...)
}

// progress writes one line of progress to stderr.
func (a *app) progress(format string, args ...any) {
	_, _ = fmt.Fprintf(a.stderr, format+"\n", args...)
}

// state returns the state folder, made if need be with mode 0700.
func (a *app) state() (string, error) {
	dir := a.stateDir
	if dir == "" {
		base := os.Getenv("XDG_STATE_HOME")
		if base == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("no state folder: %w; give one with --state DIR", err)
			}
			base = filepath.Join(home, ".local", "state")
		}
		dir = filepath.Join(base, "rackproof")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("state folder: %w; give another with --state DIR", err)
	}
	return dir, nil
}

// library opens the embedded profiles and those of --profiles.
func (a *app) library() *profiles.Library { return profiles.Open(a.profileDirs...) }

// nextVerb points to the verb that was meant, as far as one is near.
func nextVerb(a *app, word string) string {
	var names []string
	for _, c := range verbs(a) {
		names = append(names, c.Name())
	}
	if near := profiles.Nearest(word, names); near != "" {
		return "rackproof " + near + " --help"
	}
	return "rackproof --help"
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "rackproof",
		Short:         "From a BMC to a tested server, with proof",
		Long:          "rackproof drives a racked GPU server's BMC, burns the machine in over SSH, judges\nit against a hardware profile, and writes the test record.\n\n" + exitHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usageError(fmt.Errorf("there is no verb %q", args[0]), nextVerb(a, args[0]))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(*cobra.Command, []string) {
			level := slog.LevelWarn
			if a.verbose {
				level = slog.LevelDebug
			}
			a.log = slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
		},
	}
	f := root.PersistentFlags()
	f.BoolVar(&a.json, "json", false, "results as JSON on stdout")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log what is done to stderr")
	f.StringVar(&a.stateDir, "state", "", "state `folder` (default: $XDG_STATE_HOME/rackproof)")
	f.StringArrayVar(&a.profileDirs, "profiles", nil, "more `folder`s of profiles and specs")
	root.AddCommand(verbs(a)...)
	return root
}
