package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTemporalTLS(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		p    protection
		on   bool
		want string
	}{
		"none":         {protection{}, false, ""},
		"system":       {protection{on: true}, true, ""},
		"no file":      {protection{ca: empty + "2"}, false, "empty.pem2"},
		"no authority": {protection{ca: empty}, false, "has no certificate in PEM"},
		"half":         {protection{cert: empty}, false, "needs both its files"},
		"no pair":      {protection{cert: empty, key: empty}, false, "--temporal-cert " + empty},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.p.config()
			if (got != nil) != c.on || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v; want %v, %q", got, err, c.on, c.want)
			}
		})
	}
	for server, want := range map[string]bool{"127.0.0.1:7233": true, "[::1]:7233": true, "localhost:7233": true, "10.0.0.1:7233": false, "temporal.example.net:7233": false} {
		if own(server) != want {
			t.Errorf("%s is our own: %v", server, !want)
		}
	}
}
