package burnin

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// ManifestFile lists every file of an attempt's evidence with its SHA-256, in the
// form that `sha256sum -c` checks.
const ManifestFile = "SHA256SUMS"

// Seal writes the manifest over the evidence of the folder and returns the hash of
// the manifest: whoever holds it can tell whether any byte of the evidence was
// changed since. Sealing again gives the same bytes.
func (s *Store) Seal() (string, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return "", fmt.Errorf("seal evidence: %w", err)
	}
	defer func() { _ = root.Close() }()
	files, err := readFolder(root.FS())
	if err != nil {
		return "", fmt.Errorf("seal evidence %s: %w", s.dir, err)
	}
	var lines []string
	for name, b := range files.byName {
		if name != ManifestFile {
			lines = append(lines, name+"\x00"+sum(b)+"  "+name+"\n")
		}
	}
	slices.Sort(lines)
	var manifest strings.Builder
	for _, l := range lines {
		_, line, _ := strings.Cut(l, "\x00")
		manifest.WriteString(line)
	}
	b := []byte(manifest.String())
	return sum(b), s.write(ManifestFile, b)
}

// ManifestSHA256 is the hash of the manifest that lies in the record, "" when the
// record was never sealed.
func (r *Record) ManifestSHA256() string {
	if len(r.Manifest) == 0 {
		return ""
	}
	return sum(r.Manifest)
}
