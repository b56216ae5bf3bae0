package burnin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// sampleTime is how the sampler and the store write the time of a sample.
const sampleTime = "2006-01-02T15:04:05.000Z07:00"

// clock is the time of a sample in a sentence.
func clock(at time.Time) string { return at.UTC().Format("15:04:05") }

// FormatSamples writes samples in the form of a .samples file: each is a line
// "<RFC 3339 ms> <length>", then that many raw bytes and a newline.
func FormatSamples(w io.Writer, samples []Sample) error {
	for _, s := range samples {
		_, err := fmt.Fprintf(w, "%s %d\n%s\n", s.At.UTC().Format(sampleTime), len(s.Out), s.Out)
		if err != nil {
			return fmt.Errorf("write samples: %w", err)
		}
	}
	return nil
}

// errCutSample means that a .samples file ends inside a sample.
var errCutSample = errors.New("the last sample is cut short")

// ParseSamples reads a .samples file; what it returns are parts of b. A file that ends inside a sample, as one
// that is still being written does, gives the whole samples and an error.
func ParseSamples(b []byte) ([]Sample, error) {
	var samples []Sample
	for len(b) > 0 {
		s, n, err := nextSample(b)
		if err != nil {
			return samples, fmt.Errorf("sample %d: %w", len(samples)+1, err)
		}
		samples = append(samples, s)
		b = b[n:]
	}
	return samples, nil
}

// nextSample reads the first sample of b and says how many bytes it took.
func nextSample(b []byte) (s Sample, taken int, err error) {
	head, rest, ok := bytes.Cut(b, []byte("\n"))
	if !ok {
		return s, 0, errCutSample
	}
	when, length, ok := bytes.Cut(head, []byte(" "))
	if !ok {
		return s, 0, fmt.Errorf("want \"<time> <length>\", have %.60q", head)
	}
	if s.At, err = time.Parse(time.RFC3339, string(when)); err != nil {
		return s, 0, fmt.Errorf("time: %w", err)
	}
	n, err := strconv.ParseUint(string(length), 10, 31)
	if err != nil {
		return s, 0, fmt.Errorf("length: %w", err)
	}
	if len(rest) < int(n)+1 {
		return s, 0, errCutSample
	}
	if rest[n] != '\n' {
		return s, 0, fmt.Errorf("no line end after %d bytes", n)
	}
	s.At = s.At.UTC()
	s.Out = rest[:n:n]
	return s, len(head) + 1 + int(n) + 1, nil
}
