package provision

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/goccy/go-yaml"
)

// A "secret:NAME" is in a file of the worker that does the step: one "NAME: value" a
// line, YAML, that nobody else can read. Only the name travels.

// WithSecrets is m with its secret references bound to the file of this worker.
func (m Machine) WithSecrets(file string) Machine {
	for _, r := range []*Ref{&m.Login.User, &m.Login.Password, &m.Login.New, &m.SSH.Key} {
		if strings.HasPrefix(string(*r), "secret:") && !strings.Contains(string(*r), "#") {
			*r = Ref("secret:" + file + "#" + strings.TrimPrefix(string(*r), "secret:"))
		}
	}
	return m
}

// namedSecret finds FILE#NAME.
func namedSecret(rest string) (string, error) {
	i := strings.LastIndex(rest, "#")
	if i < 0 {
		return "", errors.New("it is in the file of a Temporal worker: use it with --engine temporal, or write env:NAME, file:PATH or command:…")
	}
	file, name := rest[:i], rest[i+1:]
	info, err := os.Stat(ExpandHome(file))
	if err != nil {
		return "", err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be read by others; chmod 600 it", file)
	}
	b, err := os.ReadFile(ExpandHome(file))
	if err != nil {
		return "", err
	}
	var secrets map[string]string
	if err := yaml.Unmarshal(b, &secrets); err != nil { // its text holds secrets: not repeated
		return "", fmt.Errorf("%s is no YAML of lines NAME: value", file)
	}
	value, ok := secrets[name]
	if !ok {
		return "", fmt.Errorf("%s has no %s; add a line %s: … to it on the worker", file, name, name)
	}
	return value, nil
}

// checkRemote reports a reference that a worker elsewhere cannot, or must not, resolve.
func (r Ref) checkRemote() error {
	kind, _, err := r.parts()
	if err != nil {
		return err
	}
	if kind == "secret" || kind == "csv" {
		return nil
	}
	return fmt.Errorf("credential %s is of this machine, and the step is done by a worker elsewhere: write secret:NAME here, and the line NAME: … in that worker's secrets file", r)
}
