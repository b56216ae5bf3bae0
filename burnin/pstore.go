package burnin

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"time"
)

// Pstore are the records that kernels wrote into non-volatile memory (firmware
// variables, ERST, reserved memory) when they died, also those that systemd has put
// aside. An empty answer proves nothing: most machines have no such memory set up.
var Pstore = Probe[[]CrashRecord]{
	Spec: ProbeSpec{
		Name: "pstore",
		Command: always(`for f in /sys/fs/pstore/* /var/lib/systemd/pstore/* /var/lib/systemd/pstore/*/*; do
  case ${f##*/} in dmesg*|console-*) ;; *) continue ;; esac
  [ -f "$f" ] || continue
  printf '#rackproof-pstore %s %s\n' "$(date -u -r "$f" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || echo -)" "$f"
  head -c 262144 "$f"; echo
done
echo '#rackproof-pstore-end'`),
		Phases:   []Phase{PhaseBefore, PhaseAfter},
		Deadline: time.Minute,
		Root:     true,
	},
	Parse: parsePstore,
}

// CrashRecord is what was left behind of one crash.
type CrashRecord struct {
	Name  string    // path of the record
	At    time.Time // when it was written, by the node's clock; zero = not known
	Lines []KernelLine
}

var pstoreHead = regexp.MustCompile(`^#rackproof-pstore (\S+) (.+)$`)

func parsePstore(e *Evidence) ([]CrashRecord, error) {
	body, _ := e.Body()
	if !strings.Contains(string(body), "#rackproof-pstore") {
		return nil, errors.New("pstore: this is no list of crash records")
	}
	var out []CrashRecord
	for line := range strings.Lines(string(body)) {
		line = chomp(line)
		if m := pstoreHead.FindStringSubmatch(line); m != nil {
			at, err := time.Parse(time.RFC3339, m[1])
			if err != nil {
				at = time.Time{}
			}
			out = append(out, CrashRecord{Name: m[2], At: at})
			continue
		}
		if len(out) == 0 {
			continue
		}
		if l, _ := kernelLine(line); l.Text != "" {
			c := &out[len(out)-1]
			c.Lines = append(c.Lines, l)
		}
	}
	return out, nil
}

// Console is what the BMC saw on the machine's serial console while an attempt ran.
// provision collects it; on a node there is nothing to run.
var Console = Probe[CrashRecord]{
	Spec:  ProbeSpec{Name: "console", AnyExit: true},
	Parse: parseConsole,
}

// escapes are what firmware and boot loaders write to position text on a terminal.
var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|[\x00-\x08\x0b-\x1f]")

// ConsoleLive stands on a line of its own between what a BMC may have kept from before
// it was watched and what came since.
const ConsoleLive = "#rackproof-console-live"

func parseConsole(e *Evidence) (CrashRecord, error) {
	body, _ := e.Body()
	if _, live, marked := bytes.Cut(body, []byte(ConsoleLive+"\n")); marked {
		body = live
	}
	c := CrashRecord{Name: "console"}
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSpace(escapes.ReplaceAllString(line, ""))
		if l, _ := kernelLine(line); l.Text != "" {
			c.Lines = append(c.Lines, l)
		}
	}
	return c, nil
}
