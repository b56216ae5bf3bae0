package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rackproof/rackproof/provision"
)

// workflowFlag lets a verb carry out another workflow than the batch's.
func workflowFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "workflow", "", "another `workflow` than the batch's")
}

// workflowHelp lists the workflows with their steps.
func workflowHelp() string {
	var b strings.Builder
	b.WriteString("Workflows (a batch may have one of its own, of the same steps):\n")
	for _, w := range provision.Workflows() {
		fmt.Fprintf(&b, "  %-10s %s:\n", w.Name, w.About)
		line := strings.Repeat(" ", 12)
		for i, name := range w.Names() {
			if i < len(w.Steps)-1 {
				name += ","
			}
			if len(line)+1+len(name) > 80 {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", 12)
			}
			line += " " + name
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("A workflow without burn-in proves little: unless the spec asks for no more, it ends\nINCOMPLETE (exit 4; --fail-on failed,unfinished passes over that).")
	return b.String()
}
