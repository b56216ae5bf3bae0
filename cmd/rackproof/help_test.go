package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every verb's --help has an example and the exit codes, which scripts rely on.
func TestHelp(t *testing.T) {
	root := (&app{}).rootCommand()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if !c.Runnable() || c == root {
			return
		}
		path := strings.Fields(c.CommandPath())[1:]
		t.Run(strings.Join(path, " "), func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Main(t.Context(), append(path, "--help"), strings.NewReader(""), &out, &errs); code != exitPassed {
				t.Fatalf("exit %d, stderr %q", code, errs.String())
			}
			for _, want := range []string{"rackproof " + strings.Join(path, " "), "Example", "Exit codes:"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("--help lacks %q", want)
				}
			}
		})
	}
	walk(root)
}
