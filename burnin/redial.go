package burnin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Redialer is a Shell that outlives its connection: when it is lost, it dials
// again for as long as Patience says and runs the command once more. All commands
// of a Node can be run twice. A command that is lost twice stays lost: it may be
// the reason. One that streams (Command.Stdout) is not run again here: part of it has
// come, and who gave it knows what is left. Safe for concurrent use.
type Redialer struct {
	Dial     func(context.Context) (Shell, error)
	Patience time.Duration // how long to dial before giving up; 0 = five minutes
	Note     func(string)  // told of every loss and return, for the record; may be nil
	Log      *slog.Logger  // may be nil

	mu    sync.Mutex
	shell Shell
}

// ErrNodeLost means that the node did not come back within the redialer's patience.
var ErrNodeLost = errors.New("the node does not come back")

// errLostTwice means that the same command lost the connection twice.
var errLostTwice = errors.New("lost twice by the same command")

// errDropped means that the connection was lost under a command that streams, and that
// the next command is run on a new one.
var errDropped = errors.New("connection lost")

const defaultPatience = 5 * time.Minute

// Start dials for the first time, without patience: an address or a key that is
// wrong is better said at once.
func (r *Redialer) Start(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	sh, err := r.Dial(ctx)
	r.shell = sh
	return err
}

// Close closes the connection there is.
func (r *Redialer) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shell == nil {
		return nil
	}
	err := r.shell.Close()
	r.shell = nil
	return err
}

// Run implements Shell.
func (r *Redialer) Run(ctx context.Context, c Command) (Output, error) {
	for again := false; ; again = true {
		sh, err := r.current(ctx)
		if err != nil {
			return Output{Ended: EndedLost}, err
		}
		out, err := sh.Run(ctx, c)
		if err == nil || out.Ended != EndedLost || ctx.Err() != nil {
			return out, err
		}
		r.drop(sh, err)
		if c.Stdout != nil {
			return out, fmt.Errorf("%w: %w", errDropped, err)
		}
		if again {
			return out, fmt.Errorf("%w: %w", errLostTwice, err)
		}
		if !rewind(c.Stdin) {
			return out, err
		}
	}
}

func rewind(in io.Reader) bool {
	if in == nil {
		return true
	}
	s, ok := in.(io.Seeker)
	if !ok {
		return false
	}
	_, err := s.Seek(0, io.SeekStart)
	return err == nil
}

func (r *Redialer) drop(sh Shell, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shell != sh {
		return
	}
	_ = sh.Close()
	r.shell = nil
	r.note("connection lost: " + why.Error())
}

func (r *Redialer) current(ctx context.Context) (Shell, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shell != nil {
		return r.shell, nil
	}
	patience := r.Patience
	if patience <= 0 {
		patience = defaultPatience
	}
	began, wait := time.Now(), time.Second
	for {
		sh, err := r.Dial(ctx)
		if err == nil {
			r.shell = sh
			r.note(fmt.Sprintf("connected again after %.0f s", time.Since(began).Seconds()))
			return sh, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if time.Since(began)+wait > patience {
			return nil, fmt.Errorf("%w, tried for %s: %w", ErrNodeLost, patience, err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
		wait = min(2*wait, 15*time.Second)
	}
}

func (r *Redialer) note(text string) {
	if r.Log != nil {
		r.Log.Warn(text)
	}
	if r.Note != nil {
		r.Note(text)
	}
}
