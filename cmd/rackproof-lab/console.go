package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/rackproof/rackproof/provision/lab"
)

// consoleEnd is the key that leaves the console: Ctrl-].
const consoleEnd = 0x1d

func consoleCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "console MACHINE",
		Short: "The machine's serial console",
		Long: "Show the serial console and pass on what is typed. Ctrl-] leaves it. It works\n" +
			"whether the machine is on or off, and beside an IPMI SOL session.\n\nExample:\n  rackproof-lab console lab1\n\n" + exitHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := lab.Open(cmd.Context(), a.dir)
			if err != nil {
				return err
			}
			line, err := c.Console(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.attend(cmd.Context(), line)
		},
	}
}

// attend joins the terminal and the line until either ends.
func (a *app) attend(ctx context.Context, line io.ReadWriteCloser) (err error) {
	if f, ok := a.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		was, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, term.Restore(int(f.Fd()), was)) }()
	}
	defer context.AfterFunc(ctx, func() { _ = line.Close() })()
	go func() {
		if typeUntilEnd(line, a.stdin) {
			_ = line.Close()
		}
	}()
	_, err = io.Copy(a.stdout, line)
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// typeUntilEnd copies keys to the line, and reports whether consoleEnd was among
// them; otherwise the input has ended, and the line is still worth watching.
func typeUntilEnd(line io.Writer, keys io.Reader) bool {
	b := make([]byte, 256)
	for {
		n, err := keys.Read(b)
		before, _, end := bytes.Cut(b[:n], []byte{consoleEnd})
		if _, werr := line.Write(before); end || werr != nil {
			return true
		}
		if err != nil {
			return false
		}
	}
}
