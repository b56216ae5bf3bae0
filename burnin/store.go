package burnin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Names of the files of an attempt that stand beside the phase folders.
const (
	metaFile    = "evidence.json"
	profileFile = "profile.yaml"
	specFile    = "spec.yaml"
	machineFile = "machine.json"
)

var (
	probeName    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	instanceName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:+-]{0,127}$`)
	phaseName    = regexp.MustCompile(`^(bmc|before|load|after|boot-[0-9]{2,4})$`)
)

// Store is the folder of one attempt, <run>/<machine>/<attempt>/. Every file is
// written under a temporary name, synced and renamed, and the .json of an
// evidence comes last: what was interrupted is not there, never half there. Safe
// for concurrent use by one process.
type Store struct {
	dir string
	mu  sync.Mutex
}

// evidenceFile is the .json of an evidence. The samples have a hash of their own
// beside those of the two streams, so that no stored byte is without one.
type evidenceFile struct {
	*Evidence
	SHA256Samples string `json:"sha256_samples,omitempty"`
}

// OpenStore opens the folder of an attempt, and makes it (mode 0700) where it is
// not there.
func OpenStore(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open evidence folder: %w", err)
	}
	return &Store{dir: dir}, nil
}

// Dir is the folder.
func (s *Store) Dir() string { return s.dir }

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// Add seals e and writes it. An evidence of the same phase and name is replaced.
func (s *Store) Add(e *Evidence) error {
	if err := checkNames(e); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Started = e.Started.UTC().Truncate(time.Millisecond)
	e.Seal()
	file := evidenceFile{Evidence: e}
	base := filepath.Join(string(e.Phase), e.Name())
	// The old .json goes first: until the new one is there, the folder says that
	// this evidence does not exist, instead of joining old words to new output. A
	// measurement that only gets samples stays: they count with the new .json.
	if !s.holds(e) {
		if err := s.remove(base + ".json"); err != nil {
			return err
		}
		if err := errors.Join(s.place(base+".out", e.Out), s.place(base+".err", e.Err)); err != nil {
			return err
		}
	}
	if len(e.Samples) > 0 {
		var b bytes.Buffer
		if err := FormatSamples(&b, e.Samples); err != nil {
			return err
		}
		if err := s.place(base+".samples", b.Bytes()); err != nil {
			return err
		}
		file.SHA256Samples = sum(b.Bytes())
	} else if err := s.remove(base + ".samples"); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(s.path(base))); err != nil { // all that the .json speaks of, at once
		return fmt.Errorf("write evidence %s: %w", base, err)
	}
	return s.writeJSON(base+".json", file)
}

// holds reports whether the same measurement is stored, without samples or with
// those of e.
func (s *Store) holds(e *Evidence) bool {
	old, err := s.evidence(e.Phase, e.Name())
	if err != nil || old == nil || !old.Started.Equal(e.Started) || old.SHA256Out != e.SHA256Out || old.SHA256Err != e.SHA256Err {
		return false
	}
	same := func(a, b Sample) bool { return a.At.Equal(b.At) && bytes.Equal(a.Out, b.Out) }
	return len(old.Samples) == 0 || slices.EqualFunc(old.Samples, e.Samples, same)
}

// tmpPrefix begins the names under which files are written.
const tmpPrefix = ".tmp-"

// Sweep removes what a killed process was writing. Only the process that works on
// the attempt may call it.
func (s *Store) Sweep() error {
	for _, pattern := range []string{tmpPrefix + "*", "*/" + tmpPrefix + "*"} {
		left, err := fs.Glob(os.DirFS(s.dir), pattern)
		if err != nil {
			return fmt.Errorf("sweep evidence folder: %w", err)
		}
		for _, f := range left {
			if err := s.remove(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// Has reports whether the evidence of phase and name ("nvme-smart@nvme0") is
// stored whole.
func (s *Store) Has(phase Phase, name string) bool {
	_, err := os.Stat(s.path(filepath.Join(string(phase), name+".json")))
	return err == nil
}

// evidence reads one evidence back, nil when it is not stored.
func (s *Store) evidence(phase Phase, name string) (*Evidence, error) {
	if !s.Has(phase, name) {
		return nil, nil
	}
	return readEvidence(string(phase)+"/"+name+".json", func(file string) []byte {
		b, err := os.ReadFile(s.path(filepath.FromSlash(file)))
		if err != nil {
			return nil
		}
		if b == nil {
			b = []byte{}
		}
		return b
	})
}

// SetMeta writes evidence.json.
func (s *Store) SetMeta(m Meta) error {
	m.Schema = EvidenceSchema
	m.Started, m.Ended = m.Started.UTC().Truncate(time.Millisecond), m.Ended.UTC().Truncate(time.Millisecond)
	return s.writeJSON(metaFile, m)
}

// Meta reads evidence.json; ok is false when the attempt is new.
func (s *Store) Meta() (m Meta, ok bool, err error) {
	b, err := os.ReadFile(s.path(metaFile))
	if errors.Is(err, os.ErrNotExist) {
		return m, false, nil
	}
	if err != nil {
		return m, false, fmt.Errorf("read evidence folder: %w", err)
	}
	m, err = parseMeta(b)
	return m, err == nil, err
}

// SetMachine writes machine.json.
func (s *Store) SetMachine(m Machine) error { return s.writeJSON(machineFile, m) }

// Machine reads machine.json back; the zero Machine where there is none.
func (s *Store) Machine() (m Machine, err error) {
	b, err := os.ReadFile(s.path(machineFile))
	if errors.Is(err, os.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", s.path(machineFile), err)
	}
	return m, err
}

// SetProfile writes the resolved bytes that the record is to be judged with. An
// empty slice leaves that file out, as a bare capture does.
func (s *Store) SetProfile(profile, spec []byte) error {
	for name, b := range map[string][]byte{profileFile: profile, specFile: spec} {
		if len(b) == 0 {
			continue
		}
		if err := s.write(name, b); err != nil {
			return err
		}
	}
	return nil
}

// Record reads the folder back, with every hash checked.
func (s *Store) Record() (*Record, error) { return LoadRecord(s.dir) }

// Put writes a file beside the evidence, whole and durably: a report.
func (s *Store) Put(name string, b []byte) error { return s.write(name, b) }

func (s *Store) writeJSON(name string, v any) error {
	b, err := JSON(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return s.write(name, b)
}

// write puts a file into place atomically and durably.
func (s *Store) write(name string, b []byte) error {
	if err := s.place(name, b); err != nil {
		return err
	}
	return syncDir(filepath.Dir(s.path(name)))
}

// place is write, durable once its folder is synced.
func (s *Store) place(name string, b []byte) (err error) {
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	if len(b) == 0 { // most commands say nothing on stderr: there is nothing to cut short
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
			return f.Close()
		}
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), tmpPrefix+"*")
	if err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write evidence %s: %w", path, err), os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(b)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

func (s *Store) remove(name string) error {
	err := os.Remove(s.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("replace evidence: %w", err)
	}
	return nil
}

// syncDir makes a rename durable. Where folders cannot be synced (windows), the
// file system orders it itself.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}

// checkNames keeps what came from a node, such as an instance name, from becoming
// a path.
func checkNames(e *Evidence) error {
	switch {
	case !phaseName.MatchString(string(e.Phase)):
		return fmt.Errorf("evidence %q: no such phase", e.Ref())
	case !probeName.MatchString(e.Probe):
		return fmt.Errorf("evidence %q: not a probe name", e.Ref())
	case e.Instance != "" && !instanceName.MatchString(e.Instance):
		return fmt.Errorf("evidence %q: instance cannot be a file name", e.Ref())
	}
	return nil
}
