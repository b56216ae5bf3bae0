package provision

import (
	"os"
	"os/user"
)

// Operator is who works with this process, as events, the audit log and a node in work
// name them: user@host; with sudo the user who called it.
func Operator() string {
	name := os.Getenv("SUDO_USER")
	if name == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "this host"
	}
	return or(name, "somebody") + "@" + host
}
