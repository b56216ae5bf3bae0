package lab

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// cpioWriter writes the archive format that the kernel takes as its first root
// file system: "newc" (Documentation/driver-api/early-userspace/buffer-format.rst).
type cpioWriter struct {
	w   io.Writer
	ino int
	at  int64
}

// Types of file in the mode of an entry.
const (
	cpioFolder = 0o040000
	cpioFile   = 0o100000
	cpioLink   = 0o120000
)

// header begins an entry of size bytes. Times are zero: the same content gives the
// same archive.
func (c *cpioWriter) header(name string, mode, imageLinks, size int) error {
	c.ino++
	head := fmt.Sprintf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		c.ino, mode, 0, 0, imageLinks, 0, size, 0, 0, 0, 0, len(name)+1, 0, name)
	n, err := io.WriteString(c.w, head)
	c.at += int64(n)
	if err != nil {
		return err
	}
	return c.pad()
}

func (c *cpioWriter) pad() error {
	n, err := c.w.Write(make([]byte, (4-c.at%4)%4))
	c.at += int64(n)
	return err
}

func (c *cpioWriter) entry(name string, mode, size int, content io.Reader) error {
	if err := c.header(name, mode, 1, size); err != nil {
		return err
	}
	n, err := io.CopyN(c.w, content, int64(size))
	c.at += n
	if err != nil {
		return err
	}
	return c.pad()
}

// end writes the mark behind the last entry.
func (c *cpioWriter) end() error { return c.header("TRAILER!!!", 0, 1, 0) }

// write lays the tree into w, folders before what is in them, and returns how much
// that is.
func (t *tree) write(w io.Writer) (size int64, err error) {
	c := &cpioWriter{w: w}
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		if err := t.writeEntry(c, name, t.entries[name]); err != nil {
			return 0, fmt.Errorf("write the image: %s: %w", name, err)
		}
	}
	return c.at, c.end()
}

func (t *tree) writeEntry(c *cpioWriter, name string, e treeEntry) error {
	perm := int(e.mode.Perm())
	if e.mode&fs.ModeSticky != 0 {
		perm |= 0o1000
	}
	switch {
	case e.mode.IsDir():
		return c.header(name, cpioFolder|perm, 2, 0)
	case e.mode&fs.ModeSymlink != 0:
		return c.entry(name, cpioLink|perm, len(e.link), strings.NewReader(e.link))
	case e.from == "":
		return c.entry(name, cpioFile|perm, len(e.data), bytes.NewReader(e.data))
	}
	f, err := t.root.Open(e.from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return c.entry(name, cpioFile|perm, int(info.Size()), f)
}
