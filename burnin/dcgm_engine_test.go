package burnin

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// A host engine is started only where none answers, in the folder of the unit, and ends
// with the diagnostic.
func TestHostEngine(t *testing.T) {
	const (
		// The node's own engine runs where the file says so; another listens at its socket.
		dcgmi = `#!/bin/sh
at="$DIR/running"
while [ $# -gt 0 ]; do
	case $1 in
	--host) at=${2#unix://} host=$2; shift ;;
	diag | discovery) verb=$1 ;;
	esac
	shift
done
[ -e "$at" ] || { echo "Error: unable to establish a connection to the specified host: localhost"; exit 255; }
[ "$verb" = discovery ] || echo "diag by ${host:-the node} engine"
exit 3
`
		engine = `#!/bin/sh
echo "$$ $*" >"$DIR/engine"
while [ "$1" != --domain-socket ]; do shift; done
: >"$2"
exec sleep 60
`
	)
	answers := strings.Replace(dcgmi, "exit 3", `[ "$verb" = diag ] && exit 3; exit 0`, 1)
	for _, c := range []struct {
		name    string
		running bool
		engine  string
		out     string // its beginning
		exit    int
		missing string
	}{
		{"one runs", true, engine, "diag by the node engine", 3, ""},
		{"none runs", false, engine, "diag by unix://", 3, ""},
		{"none can be started", false, "", "", 1, "(nv-hostengine is not on the node)"},
		{"it ends at once", false, "#!/bin/sh\necho 'Err: Failed to start DCGM Server: -7'\nexit 1\n", "", 1, "(one that was started ended at once)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, bin := t.TempDir(), t.TempDir()
			for _, tool := range []string{"sh", "timeout", "grep", "sleep", "cat"} {
				at, err := exec.LookPath(tool)
				if err != nil {
					t.Skipf("%s is not here", tool)
				}
				if err := os.Symlink(at, filepath.Join(bin, tool)); err != nil {
					t.Fatal(err)
				}
			}
			files := map[string]string{filepath.Join(bin, "dcgmi"): answers}
			if c.engine != "" {
				files[filepath.Join(bin, "nv-hostengine")] = c.engine
			}
			if c.running {
				files[filepath.Join(dir, "running")] = ""
			}
			for file, text := range files {
				if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "sh"), "-c", dcgmDiag(&profiles.Profile{}, time.Minute))
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + bin, "DIR=" + dir}
			var out, errs strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &errs
			_ = cmd.Run()
			if cmd.ProcessState.ExitCode() != c.exit || !strings.HasPrefix(out.String(), c.out) {
				t.Errorf("exit %d, printed %q and %q", cmd.ProcessState.ExitCode(), out.String(), errs.String())
			}
			_, err := parseDCGM(&Evidence{Probe: "dcgm", Phase: PhaseLoad, Out: []byte(out.String()), Err: []byte(errs.String())})
			if c.missing != "" && !strings.Contains(err.Error(), c.missing) {
				t.Errorf("not run: %v, want %s", err, c.missing)
			}
			engineEnded(t, filepath.Join(dir, "engine"), !c.running && c.missing == "")
		})
	}
}

// engineEnded asks that the engine was started in the folder, where one was to be, and
// runs no more.
func engineEnded(t *testing.T, file string, started bool) {
	t.Helper()
	said, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) != !started {
		t.Errorf("started: %q, %v; want %v", said, err, started)
	}
	if !started {
		return
	}
	pid, args, _ := strings.Cut(strings.TrimSpace(string(said)), " ")
	dir := filepath.Dir(file)
	if want := "--no-daemon --domain-socket " + dir + "/engine.sock --pid " + dir + "/engine.pid --log-filename " + dir + "/engine.log"; args != want {
		t.Errorf("started with %q, want %q", args, want)
	}
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the engine is still there: %v", err)
	}
}
