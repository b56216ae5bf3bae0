package provision

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Ref says where a secret is, never what it is: "env:NAME", "file:PATH",
// "age:FILE#IDENTITY" (opened with the identity in another file), "command:pass show
// bmc/r12u07", "csv:FILE#COLUMN" (the row whose column name is the machine's),
// "secret:NAME" (of a Temporal worker). In a batch {name} in it is the machine's. It is printed and journaled; what it resolves
// to never is.
type Ref string

const commandDeadline = 30 * time.Second

// Resolve fetches the secret. The error names the reference and never its value.
func (r Ref) Resolve(ctx context.Context) (string, error) { return r.ResolveFor(ctx, "") }

// ResolveFor is Resolve for one machine, whose row a csv reference takes.
func (r Ref) ResolveFor(ctx context.Context, machine string) (string, error) {
	kind, rest, err := r.parts()
	if err != nil {
		return "", err
	}
	value, err := fetchSecret(ctx, kind, rest, machine)
	if err != nil {
		return "", fmt.Errorf("credential %s: %w", r, err)
	}
	if kind != "file" || strings.Count(value, "\n") <= 1 { // a key file keeps its lines
		value = strings.TrimRight(value, "\r\n")
	}
	switch {
	case value == "" && kind == "env":
		return "", fmt.Errorf("credential %s is not set; export %s", r, rest)
	case value == "":
		return "", fmt.Errorf("credential %s is empty", r)
	}
	return value, nil
}

func fetchSecret(ctx context.Context, kind, rest, machine string) (string, error) {
	switch kind {
	case "env":
		return os.Getenv(rest), nil
	case "file":
		b, err := os.ReadFile(ExpandHome(rest))
		return string(b), err
	case "age":
		return ageSecret(rest)
	case "command":
		return runCommand(ctx, rest)
	case "secret":
		return namedSecret(rest)
	default: // parts knows the kinds
		return csvCell(rest, machine)
	}
}

// of is the reference with the machine's name where it says {name}: one line in the
// defaults names the secret of every machine. Names are made of letters, digits, '.', '-'
// and '_' (see fileSafe), so a command stays the line that was written.
func (r Ref) of(machine string) Ref {
	if !fileSafe.MatchString(machine) { // an error of its own
		return r
	}
	return Ref(strings.ReplaceAll(string(r), "{name}", machine))
}

// Check reports, without running or contacting anything, a reference that cannot
// resolve: wrong form, variable not set, file not there.
func (r Ref) Check(machine string) error {
	kind, rest, err := r.parts()
	if err != nil {
		return err
	}
	if kind == "command" {
		return nil
	}
	if kind == "file" {
		if _, err := os.Stat(ExpandHome(rest)); err != nil {
			return fmt.Errorf("credential %s: %w", r, withoutPath(err))
		}
		return nil
	}
	_, err = r.ResolveFor(context.Background(), machine)
	return err
}

// parts splits a reference. Text that is no reference may be a secret that
// somebody wrote down here, so the error does not repeat it.
func (r Ref) parts() (kind, rest string, err error) {
	kind, rest, ok := strings.Cut(string(r), ":")
	if !ok || rest == "" || !slices.Contains([]string{"env", "file", "age", "command", "csv", "secret"}, kind) {
		return "", "", errors.New("a credential must be a reference, not the secret itself: env:NAME, file:PATH, age:FILE#IDENTITY, command:… or csv:FILE#COLUMN")
	}
	return kind, rest, nil
}

func runCommand(ctx context.Context, line string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandDeadline)
	defer cancel()
	cmd := shellCommand(ctx, line)
	var out bytes.Buffer
	cmd.Stdout = &out // its stderr may hold anything: not repeated
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("the command failed (%w); run it by hand to see why", err)
	}
	return out.String(), nil
}

// shellCommand is a line as the user would type it.
func shellCommand(ctx context.Context, line string) *exec.Cmd {
	shell, flag := "/bin/sh", "-c"
	if runtime.GOOS == "windows" {
		shell, flag = "cmd", "/c"
	}
	cmd := exec.CommandContext(ctx, shell, flag, line)
	cmd.WaitDelay = time.Second
	return cmd
}

func csvCell(rest, machine string) (string, error) {
	file, column, ok := strings.Cut(rest, "#")
	if !ok || column == "" {
		return "", errors.New("write csv:FILE#COLUMN")
	}
	f, err := os.Open(ExpandHome(file))
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	list := csv.NewReader(f)
	list.TrimLeadingSpace = true // as the machine list is read
	rows, err := list.ReadAll()
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", errors.New("the file is empty")
	}
	name, col := slices.Index(rows[0], "name"), slices.Index(rows[0], column)
	if name < 0 || col < 0 {
		return "", fmt.Errorf("the file needs the columns name and %s", column)
	}
	for _, row := range rows[1:] {
		if strings.TrimSpace(row[name]) == machine {
			return strings.TrimSpace(row[col]), nil
		}
	}
	return "", fmt.Errorf("no row named %q", machine)
}

// ExpandHome puts the user's home in the place of a "~/" at the beginning.
func ExpandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

func withoutPath(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}
