package shell

import (
	"strconv"
	"strings"
	"time"
)

// prelude is what /bin/sh runs before a command line ($2): the folders where
// tools live that a non-login shell does not search, and a guard ($1 seconds) on
// the node, which ends the command when we have gone away and cannot.
const prelude = `PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/usr/local/cuda/bin; export PATH
if command -v timeout >/dev/null 2>&1; then exec timeout -k 2 "$1" /bin/sh -c "$2"; fi
exec /bin/sh -c "$2"`

// argZero is $0 of the prelude, and what marks a command of ours in ps.
const argZero = "rackproof"

// guardSlack is how much later than our own deadline the guard on the node acts,
// so that it is always we who say "timeout".
const guardSlack = 3 * time.Second

// remote returns what an SSH server is asked to run. Every word is quoted so that
// the login shell of the user, whichever it is, only finds /bin/sh.
func remote(line string, deadline time.Duration) string {
	return "exec env LC_ALL=C /bin/sh -c " + quote(prelude) + " " + argZero + " " + guardSeconds(deadline) + " " + quote(line)
}

func guardSeconds(deadline time.Duration) string {
	return strconv.Itoa(int((deadline + guardSlack + time.Second - 1) / time.Second))
}

// Unwrap returns the command line inside the request that SSH.Run sends to a
// server. It is for servers that answer in place of a node.
func Unwrap(request string) (line string, ok bool) {
	rest, ok := strings.CutPrefix(request, "exec env LC_ALL=C /bin/sh -c "+quote(prelude)+" "+argZero+" ")
	if !ok {
		return "", false
	}
	_, quoted, ok := strings.Cut(rest, " ")
	if !ok {
		return "", false
	}
	return unquote(quoted)
}

// quote makes s one word for any Bourne shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func unquote(s string) (string, bool) {
	if len(s) < 2 || s[0] != '\'' || s[len(s)-1] != '\'' {
		return "", false
	}
	return strings.ReplaceAll(s[1:len(s)-1], `'\''`, "'"), true
}
