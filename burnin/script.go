package burnin

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rackproof/rackproof/profiles"
)

//go:embed script.sh
var scriptHead string

// Script returns one POSIX shell script that runs the probes of the phase before
// on a host which we cannot reach, and packs their evidence into a tarball that
// LoadRecord reads. version is that of rackproof, for the record.
func Script(probes []ProbeSpec, p *profiles.Profile, version string) (string, error) {
	if p == nil {
		p = &profiles.Profile{}
	}
	var b strings.Builder
	b.WriteString(scriptHead)
	for _, spec := range probes {
		if spec.Command == nil || !slices.Contains(spec.Phases, PhaseBefore) {
			continue
		}
		command := spec.Command(p)
		if command == "" {
			continue
		}
		if err := writeScriptProbe(&b, spec, command); err != nil {
			return "", fmt.Errorf("script: probe %s: %w", spec.Name, err)
		}
	}
	fmt.Fprintf(&b, `
printf '{"name": "%%s", "boot_id": "%%s"}\n' "$host" "$boot" >"$dir/machine.json"
printf '{"schema": "%s", "machine": "%%s", "attempt": 1, "coverage": "host", "started": "%%s", "ended": "%%s", "rackproof": %%s}\n' \
	"$host" "$began" "$(now)" %s >"$dir/evidence.json"
tar -czf "$host.tar.gz" -C "$work" "$host" && echo "$host.tar.gz"
`, EvidenceSchema, shellQuote(quoteJSON(version)))
	return b.String(), nil
}

func writeScriptProbe(b *strings.Builder, spec ProbeSpec, command string) error {
	if !probeName.MatchString(spec.Name) {
		return fmt.Errorf("not a probe name")
	}
	seconds := int(deadlineOf(spec).Seconds())
	if spec.Instances == "" {
		fmt.Fprintf(b, "probe %s '' %s %d %s %s\n", spec.Name, shellQuote(spec.Tool), seconds, shellQuote(command), shellQuote(quoteJSON(command)))
		return nil
	}
	// The instance is put into the command between quotes; whatever could leave
	// them, or a file name, is passed over.
	tail := quoteJSON("'; " + command)
	fmt.Fprintf(b, `if command -v %s >/dev/null 2>&1; then
	{ %s
	} 2>/dev/null | while read -r i; do
		case $i in '' | [!A-Za-z0-9_]* | *[!A-Za-z0-9_.:+-]*) continue ;; esac
		probe %s "$i" %s %d "set -- '$i'; "%s "\"set -- '$i"%s
	done
else
	probe %s '' %s %d %s %s
fi
`,
		shellQuote(or(spec.Tool, "sh")), spec.Instances,
		spec.Name, shellQuote(spec.Tool), seconds, shellQuote(command), shellQuote(tail[1:]),
		spec.Name, shellQuote(spec.Tool), seconds, shellQuote(command), shellQuote(quoteJSON(command)))
	return nil
}

// quoteJSON is s as a JSON string; a string always has one.
func quoteJSON(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
