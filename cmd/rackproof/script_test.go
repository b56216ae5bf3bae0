package main

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The command line as a user sees it: one script a subject in testdata.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"rackproof": runRackproof},
	})
}

// runRackproof is `rackproof CODE ARG…`: runs it and wants that exit code.
func runRackproof(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: rackproof CODE ARG…")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("rackproof %s: the first word is the exit code wanted", args[0])
	}
	cmd := exec.Command(os.Args[0], args[1:]...)
	cmd.Dir = ts.Getenv("PWD")
	if cmd.Dir == "" {
		cmd.Dir = ts.MkAbs(".")
	}
	cmd.Env = append(os.Environ(), asRackproof+"=1", "HOME="+ts.Getenv("HOME"), "XDG_STATE_HOME="+ts.Getenv("XDG_STATE_HOME"))
	for _, name := range []string{"BMC_USER", "BMC_PASSWORD"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != want {
		ts.Fatalf("exit %d, want %d", code, want)
	}
}
