package burnin

import (
	"context"
	"io"
	"time"
)

// Shell runs commands on a node. Implementations are in burnin/shell: ssh, local
// and replay.
type Shell interface {
	// Run runs one command line through /bin/sh with LC_ALL=C. The error is that
	// of the transport (connection lost, context ended); how the command itself
	// ended is in Output, and Output is filled as far as it got also on error.
	Run(ctx context.Context, c Command) (Output, error)
	Close() error
}

// Command is one command line for a Shell.
type Command struct {
	Line     string
	Stdin    io.Reader
	Stdout   io.Writer     // given what is printed as it comes, all of it, until Run returns; Output.Out stays empty then
	Deadline time.Duration // 0 = the shell's default; passed → EndedTimeout, without waiting for a hung process
	Limit    int64         // most bytes kept of each stream, 0 = the shell's default; a cut output is EndedLost
}

// Output is what a command printed and how it ended.
type Output struct {
	Out, Err []byte
	Exit     *int
	Ended    Ended
	Started  time.Time
	Seconds  float64
}

// Source collects evidence: a Node does over a Shell, provision's BMC reader does
// over Redfish.
type Source interface {
	Collect(ctx context.Context, phase Phase) ([]*Evidence, error)
}
