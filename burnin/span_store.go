package burnin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// maxSpans bounds the spans of one attempt.
const maxSpans = 99

var spanName = regexp.MustCompile(`^span-[0-9]{2}$`)

// spanFolder is where the evidence of the nth span lies once another one follows.
func spanFolder(n int) string { return fmt.Sprintf("span-%02d", n) }

// shelve puts the evidence of the phase load into the folder of a span, so that the next
// span can be measured. With a boot that has ended goes what was measured before it; else
// the pages named by keep stay where they are. Called again it ends what was begun.
func (s *Store) shelve(span *Span, keep []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	folder := filepath.Join(s.dir, span.Folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("keep a span: %w", err)
	}
	phases := []Phase{PhaseLoad}
	if span.EndedBy == SpanReboot {
		phases, keep = []Phase{PhaseBefore, PhaseLoad}, nil // load last: where it is, all is there
	}
	for _, phase := range phases {
		if err := s.putAside(phase, folder); err != nil {
			return err
		}
	}
	for _, name := range keep {
		for _, ext := range []string{".out", ".err", ".json"} {
			from := filepath.Join(folder, string(PhaseLoad), name+ext)
			err := os.MkdirAll(s.path(string(PhaseLoad)), 0o700)
			if err == nil {
				err = os.Rename(from, s.path(filepath.Join(string(PhaseLoad), name+ext)))
			}
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("keep a span: %w", err)
			}
		}
	}
	return errors.Join(syncDir(folder), syncDir(s.dir))
}

// shelveBefore puts what was measured before a span to it: its boot has ended.
func (s *Store) shelveBefore(span *Span) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putAside(PhaseBefore, filepath.Join(s.dir, span.Folder))
}

func (s *Store) putAside(phase Phase, folder string) error {
	err := os.Rename(s.path(string(phase)), filepath.Join(folder, string(phase)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("keep a span: %w", err)
	}
	return nil
}

// shelved reports whether the evidence of a span is in its folder.
func (s *Store) shelved(span *Span) bool {
	_, err := os.Stat(s.path(filepath.Join(span.Folder, string(PhaseLoad))))
	return err == nil
}

// forgetSpans removes all that is kept of earlier spans.
func (s *Store) forgetSpans() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("forget evidence: %w", err)
	}
	for _, e := range entries {
		if spanName.MatchString(e.Name()) {
			err = errors.Join(err, os.RemoveAll(s.path(e.Name())))
		}
	}
	return err
}

// inSpan takes the name of a file apart: the folder of its span, "" for that of the
// attempt itself, and the rest, "load/nvidia-smi.json".
func inSpan(name string) (span, rest string, ok bool) {
	switch head, tail, _ := strings.Cut(name, "/"); {
	case strings.Count(name, "/") == 1:
		return "", name, true
	case strings.Count(name, "/") == 2 && spanName.MatchString(head):
		return head, tail, true
	}
	return "", "", false
}

// readSpanEvidence reads one evidence of an earlier span.
func readSpanEvidence(span, rel string, get func(string) []byte) (*Evidence, error) {
	folder := ""
	if span != "" {
		folder = span + "/"
	}
	e, err := readEvidence(rel, func(name string) []byte { return get(folder + name) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", span, err)
	}
	e.span = span
	return e, nil
}

// spanOf returns the evidence of an earlier span.
func (r *Record) spanOf(folder string) []*Evidence {
	var out []*Evidence
	for _, e := range r.Earlier {
		if e.span == folder {
			out = append(out, e)
		}
	}
	return out
}

// all is every evidence of the record, that of earlier spans last.
func (r *Record) all() []*Evidence { return slices.Concat(r.Evidence, r.Earlier) }
