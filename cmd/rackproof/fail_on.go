package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// failOn is --fail-on: the outcomes that a script wants to end with an exit status
// of their own. That rackproof failed (1) and bad input (2) always do.
type failOn struct{ words []string }

// failOnWords are the words of --fail-on with their exit status.
var failOnWords = map[string]int{"failed": exitHardware, "incomplete": exitIncomplete, "unfinished": exitNotFinished}

const failOnHelp = `With --fail-on only the outcomes listed end with their exit code, any other ends
with 0: failed (3), incomplete (4), unfinished (5), or none of them. That rackproof
itself failed (1) and bad input (2) always count.`

func (f *failOn) flag(cmd *cobra.Command) {
	cmd.Flags().Var(f, "fail-on", "end with an exit code other than 0 only for these (`list` of failed, incomplete, unfinished; or none)")
}

// String implements pflag.Value.
func (f *failOn) String() string { return strings.Join(f.words, ",") }

// Type implements pflag.Value.
func (*failOn) Type() string { return "list" }

// Set implements pflag.Value.
func (f *failOn) Set(s string) error {
	f.words = nil
	for w := range strings.SplitSeq(s, ",") {
		if _, ok := failOnWords[w]; !ok && w != "none" {
			return fmt.Errorf("%q: choose failed, incomplete, unfinished or none", w)
		}
		f.words = append(f.words, w)
	}
	return nil
}

// worst returns the first of codes, worst first, that counts.
func (f *failOn) worst(codes ...int) int {
	for _, code := range codes {
		if f == nil || len(f.words) == 0 || code == exitFailed || slices.ContainsFunc(f.words, func(w string) bool { return failOnWords[w] == code }) {
			return code
		}
	}
	return exitPassed
}
