package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/lab"
)

// job is `run` without a command: a lab, a batch of its machines, rackproof over
// that batch, and the record.
type job struct {
	options  lab.Options
	out      string
	protocol string
	load     string
	keepUp   bool

	name      string // of the run
	rackproof string // the program
	stages    []lab.Stage
}

// jobResult is what --json prints.
type jobResult struct {
	Run     string      `json:"run"`
	Exit    int         `json:"exit"`
	Stages  []lab.Stage `json:"stages"`
	Reports string      `json:"reports"`
}

// exitStatus ends this program with the exit status of another, which has said
// why.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// run returns rackproof's exit status.
func (j *job) run(ctx context.Context, a *app) (code int, err error) {
	start := time.Now()
	protocol, err := provision.ParseProtocol(j.protocol)
	if err != nil {
		return 0, usage{err}
	}
	if j.out, err = filepath.Abs(j.out); err != nil {
		return 0, err
	}
	if j.rackproof, err = beside("rackproof"); err != nil {
		return 0, err
	}
	status, down, err := j.bringUp(ctx, a)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, down()) }()
	j.name = "lab-" + start.UTC().Format("20060102-150405")
	batch, err := j.prepare(status, protocol)
	if err != nil {
		return 0, err
	}
	if code, err = j.inLab(ctx, a, a.stderr, "run", "-f", batch); err != nil || code == exitFailed || code == exitUsage {
		return code, err // rackproof has said why
	}
	if err := j.steps(ctx, a); err != nil {
		return 0, err
	}
	reports := filepath.Join(j.out, "reports")
	written := time.Now()
	if _, err := j.inLab(ctx, a, io.Discard, "report", j.name, "--format", "html,json", "--out", reports); err != nil {
		return 0, err
	}
	j.done(a, lab.Stage{Name: "record in " + reports, Seconds: time.Since(written).Seconds()})
	j.done(a, lab.Stage{Name: "in all", Seconds: time.Since(start).Seconds()})
	if a.json {
		return code, a.printJSON(jobResult{Run: j.name, Exit: code, Stages: j.stages, Reports: reports})
	}
	return code, nil
}

// done tells that a stage is done.
func (j *job) done(a *app, s lab.Stage) {
	j.stages = append(j.stages, s)
	a.stage(s)
}

// bringUp finds the lab, or builds one that down ends.
func (j *job) bringUp(ctx context.Context, a *app) (lab.Status, func() error, error) {
	stay := func() error { return nil }
	if c, err := lab.Open(ctx, a.dir); err == nil {
		s, err := c.Status(ctx)
		return s, stay, err
	}
	j.options.Dir = a.dir
	// The BMCs of a lab that is new have certificates that are new: no pin of one before it holds.
	if err := os.RemoveAll(filepath.Join(j.out, "state", "known_bmcs")); err != nil {
		return lab.Status{}, stay, err
	}
	s, err := lab.Up(ctx, j.options, func(s lab.Stage) { j.done(a, s) })
	if err != nil || j.keepUp {
		return s, stay, err
	}
	return s, func() error {
		ctx := context.WithoutCancel(ctx)
		c, err := lab.Open(ctx, a.dir)
		if err != nil {
			return err
		}
		return c.Down(ctx, false)
	}, nil
}

// prepare writes the batch.
func (j *job) prepare(s lab.Status, p provision.Protocol) (string, error) {
	text, err := s.Batch(lab.BatchOptions{Name: j.name, Protocol: p, Load: j.load})
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(j.out, 0o755); err != nil {
		return "", err
	}
	batch := filepath.Join(j.out, "batch.yaml")
	return batch, os.WriteFile(batch, text, 0o600)
}

// inLab runs rackproof inside the lab's network and returns its exit status.
func (j *job) inLab(ctx context.Context, a *app, stdout io.Writer, args ...string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	line := append([]string{"--dir", a.dir, "run", "--", j.rackproof, "--state", filepath.Join(j.out, "state")}, args...)
	cmd := exec.CommandContext(ctx, self, line...)
	cmd.Env = append(os.Environ(), lab.Credentials()...)
	cmd.Stdout, cmd.Stderr = stdout, a.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends the loads on its machines
	const patience = 30 * time.Second
	cmd.WaitDelay = patience
	err = cmd.Run()
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.Exited() {
		return e.ExitCode(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", j.rackproof, args[0], err)
	}
	return exitDone, nil
}

// steps tells how long each step of each machine took.
func (j *job) steps(ctx context.Context, a *app) error {
	var out bytes.Buffer
	if _, err := j.inLab(ctx, a, &out, "status", j.name, "--json"); err != nil {
		return err
	}
	var run struct {
		Machines []struct {
			Machine struct {
				Name string `json:"name"`
			} `json:"machine"`
			Steps []struct {
				Step    string  `json:"step"`
				Seconds float64 `json:"seconds"`
			} `json:"steps"`
		} `json:"machines"`
	}
	if err := json.Unmarshal(out.Bytes(), &run); err != nil {
		return fmt.Errorf("the steps of the run: %w", err)
	}
	for _, m := range run.Machines {
		for _, s := range m.Steps {
			j.done(a, lab.Stage{Name: m.Machine.Name + " " + s.Step, Seconds: s.Seconds})
		}
	}
	return nil
}

// beside finds a program in the folder of this one, or in PATH.
func beside(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), name)); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w; build it into the folder of this program: make build", err)
	}
	return path, nil
}
