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
	_, b, err := s.seal()
	return sum(b), err
}

// Sealed seals the evidence and reads it back, with every hash checked.
func (s *Store) Sealed() (*Record, error) {
	files, b, err := s.seal()
	if err != nil {
		return nil, err
	}
	files.byName[ManifestFile] = b
	return readRecord(s.dir, files)
}

func (s *Store) seal() (files *fileSet, manifest []byte, err error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, nil, fmt.Errorf("seal evidence: %w", err)
	}
	defer func() { _ = root.Close() }()
	if files, err = readFolder(root.FS()); err != nil {
		return nil, nil, fmt.Errorf("seal evidence %s: %w", s.dir, err)
	}
	var lines []string
	for name, b := range files.byName {
		if name != ManifestFile {
			lines = append(lines, name+"\x00"+sum(b)+"  "+name+"\n")
		}
	}
	slices.Sort(lines)
	for _, l := range lines {
		_, line, _ := strings.Cut(l, "\x00")
		manifest = append(manifest, line...)
	}
	return files, manifest, s.write(ManifestFile, manifest)
}

// ManifestSHA256 is the hash of the manifest that lies in the record, "" when the
// record was never sealed.
func (r *Record) ManifestSHA256() string {
	if len(r.Manifest) == 0 {
		return ""
	}
	return sum(r.Manifest)
}
