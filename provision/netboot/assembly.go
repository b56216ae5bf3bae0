package netboot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// assembly is a file that is put together as it is read: pieces at their places,
// and zeros between them. A boot image of hundreds of megabytes is never copied,
// though each machine gets its own.
type assembly struct {
	pieces []piece // not overlapping
	size   int64
}

type piece struct {
	at, size int64
	from     io.ReaderAt
}

// put places a piece; the assembly grows to hold it.
func (a *assembly) put(at int64, from io.ReaderAt, size int64) {
	a.pieces = append(a.pieces, piece{at, size, from})
	a.size = max(a.size, at+size)
}

func (a *assembly) bytes(at int64, b []byte) { a.put(at, bytes.NewReader(b), int64(len(b))) }

// ReadAt implements io.ReaderAt.
func (a *assembly) ReadAt(b []byte, at int64) (int, error) {
	if at >= a.size {
		return 0, io.EOF
	}
	end := error(nil)
	if left := a.size - at; int64(len(b)) > left {
		b, end = b[:left], io.EOF
	}
	clear(b)
	for _, p := range a.pieces {
		from, to := max(at, p.at), min(at+int64(len(b)), p.at+p.size)
		if from >= to {
			continue
		}
		n, err := p.from.ReadAt(b[from-at:to-at], from-p.at)
		if int64(n) < to-from {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return int(from-at) + n, fmt.Errorf("boot image: a part ended early: %w", err)
		}
	}
	return len(b), end
}
