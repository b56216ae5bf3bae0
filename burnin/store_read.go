package burnin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Limits of what LoadRecord reads, so that a hostile archive ends in an error and
// not in an exhausted machine.
const (
	maxFile  = 256 << 20
	maxTotal = 2 << 30
	maxFiles = 50_000
)

// LoadRecord reads the record of one attempt from its folder, from a folder above
// it, or from a .tar.gz of either. Every stored hash is checked; a file that does
// not match its hash, an unknown schema, and more than one attempt are errors. It
// never reads outside the folder, and follows no link out of it.
func LoadRecord(name string) (*Record, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read evidence: %w", err)
	}
	if !info.IsDir() {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read evidence: %w", err)
		}
		defer func() { _ = f.Close() }()
		return ReadRecord(name, f)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("read evidence: %w", err)
	}
	defer func() { _ = root.Close() }()
	files, err := readFolder(root.FS())
	if err != nil {
		return nil, fmt.Errorf("read evidence %s: %w", name, err)
	}
	return readRecord(name, files)
}

// ReadRecord is LoadRecord of a .tar.gz that is read as a stream; name stands in messages.
func ReadRecord(name string, archive io.Reader) (*Record, error) {
	files, err := readTar(archive)
	if err != nil {
		return nil, fmt.Errorf("read evidence %s: %w", name, err)
	}
	return readRecord(name, files)
}

// fileSet is the files of a folder or archive by slash-separated name.
type fileSet struct {
	byName map[string][]byte
	total  int64
}

func (f *fileSet) add(name string, b []byte) error {
	if _, twice := f.byName[name]; twice {
		return fmt.Errorf("%s is in the archive twice", name)
	}
	f.total += int64(len(b))
	f.byName[name] = b
	if f.total > maxTotal || len(f.byName) > maxFiles {
		return fmt.Errorf("more than %d MiB or %d files: not one attempt's evidence", maxTotal>>20, maxFiles)
	}
	return nil
}

func readFolder(fsys fs.FS) (*fileSet, error) {
	files := &fileSet{byName: map[string][]byte{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !wanted(name) {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() > maxFile {
			return fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
		}
		b, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		return files.add(name, b)
	})
	return files, err
}

// wanted reports whether a file belongs to a record: what a person or a report
// has put beside it is left alone.
func wanted(name string) bool {
	if strings.HasPrefix(path.Base(name), ".") {
		return false
	}
	switch path.Base(name) {
	case metaFile, profileFile, specFile, machineFile, ManifestFile:
		return true
	}
	switch path.Ext(name) {
	case ".out", ".err", ".json", ".samples":
		return phaseName.MatchString(path.Base(path.Dir(name)))
	}
	return false
}

func readRecord(source string, files *fileSet) (*Record, error) {
	top, err := findAttempt(files)
	if err != nil {
		return nil, fmt.Errorf("read evidence %s: %w", source, err)
	}
	folder := ""
	if top != "." {
		folder = top + "/"
	}
	get := func(name string) []byte { return files.byName[folder+name] }
	rec := &Record{Profile: get(profileFile), Spec: get(specFile), Manifest: get(ManifestFile)}
	if rec.Meta, err = parseMeta(get(metaFile)); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", source, metaFile, err)
	}
	if b := get(machineFile); b != nil {
		if err := json.Unmarshal(b, &rec.Machine); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", source, machineFile, err)
		}
	}
	for _, ref := range evidenceIn(files, folder) {
		span, rel, ok := inSpan(ref)
		if !ok {
			continue
		}
		e, err := readSpanEvidence(span, rel+".json", get)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source, err)
		}
		if span != "" {
			rec.Earlier = append(rec.Earlier, e)
			continue
		}
		rec.Evidence = append(rec.Evidence, e)
	}
	return rec, nil
}

// evidenceIn returns the refs of all evidence in a folder, sorted.
func evidenceIn(files *fileSet, folder string) []string {
	refs := make([]string, 0, len(files.byName)/2)
	for name := range files.byName {
		rel, below := strings.CutPrefix(name, folder)
		if ref, is := strings.CutSuffix(rel, ".json"); below && is {
			refs = append(refs, ref)
		}
	}
	slices.Sort(refs)
	return refs
}

// findAttempt returns the folder that holds evidence.json.
func findAttempt(files *fileSet) (string, error) {
	var tops []string
	for name := range files.byName {
		if path.Base(name) == metaFile {
			tops = append(tops, path.Dir(name))
		}
	}
	slices.Sort(tops)
	switch {
	case slices.Contains(tops, "."):
		return ".", nil
	case len(tops) == 0:
		return "", fmt.Errorf("no %s in it: not an evidence folder", metaFile)
	case len(tops) > 1:
		return "", fmt.Errorf("holds %d attempts, name one of them: %s", len(tops), strings.Join(tops[:min(len(tops), 3)], ", "))
	}
	return tops[0], nil
}

func parseMeta(b []byte) (Meta, error) {
	var m Meta
	if err := json.Unmarshal(b, &m); err != nil {
		return m, err
	}
	if m.Schema != EvidenceSchema {
		return m, fmt.Errorf("schema %q, this rackproof reads %s: use the version that wrote it, or a newer one", m.Schema, EvidenceSchema)
	}
	return m, nil
}

// readEvidence reads the evidence whose .json is rel ("before/nvidia-smi.json")
// and checks that the files are those that were sealed.
func readEvidence(rel string, get func(string) []byte) (*Evidence, error) {
	e := &Evidence{}
	file := evidenceFile{Evidence: e}
	if err := json.Unmarshal(get(rel), &file); err != nil {
		return nil, fmt.Errorf("%s: %w", rel, err)
	}
	base := strings.TrimSuffix(rel, ".json")
	if err := checkNames(e); err != nil {
		return nil, fmt.Errorf("%s: %w", rel, err)
	}
	if e.Ref() != base {
		return nil, fmt.Errorf("%s says that it is %s: the file was moved or edited", rel, e.Ref())
	}
	e.Out, e.Err = get(base+".out"), get(base+".err")
	samples := get(base + ".samples")
	if file.SHA256Samples == "" { // written by a process that was killed before it could seal them
		samples = nil
	}
	err := errors.Join(
		checkSum(base+".out", e.Out, e.SHA256Out),
		checkSum(base+".err", e.Err, e.SHA256Err))
	if file.SHA256Samples != "" {
		err = errors.Join(err, checkSum(base+".samples", samples, file.SHA256Samples))
	}
	if err != nil {
		return nil, err
	}
	if e.Samples, err = ParseSamples(samples); err != nil {
		return nil, fmt.Errorf("%s.samples: %w", base, err)
	}
	return e, nil
}

func checkSum(name string, b []byte, want string) error {
	if b == nil {
		return fmt.Errorf("%s is missing: the evidence is not whole", name)
	}
	if have := sum(b); have != want {
		return fmt.Errorf("%s was changed after it was measured: SHA-256 is %.16s…, recorded %.16s…", name, have, want)
	}
	return nil
}
