package burnin

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	kgzip "github.com/klauspost/compress/gzip" // reads twice as fast; what is written stays as it was, byte by byte
)

// Pack writes the folder of an attempt as a .tar.gz that LoadRecord reads. The
// same folder gives the same bytes on every machine: names sorted, no times, no
// owners.
func Pack(dir string, w io.Writer) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("pack evidence: %w", err)
	}
	defer func() { _ = root.Close() }()
	files, err := readFolder(root.FS())
	if err != nil {
		return fmt.Errorf("pack evidence %s: %w", dir, err)
	}
	meta, err := parseMeta(files.byName[metaFile])
	if err != nil {
		return fmt.Errorf("pack evidence %s: %s: %w", dir, metaFile, err)
	}
	gz := gzip.NewWriter(w)
	if err := errors.Join(packTo(gz, folderName(meta.Machine), files), gz.Close()); err != nil {
		return fmt.Errorf("pack evidence %s: %w", dir, err)
	}
	return nil
}

func packTo(w io.Writer, prefix string, files *fileSet) error {
	tw := tar.NewWriter(w)
	names := make([]string, 0, len(files.byName))
	for name := range files.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b := files.byName[name]
		err := tw.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: path.Join(prefix, name), Mode: 0o644,
			Size: int64(len(b)), Format: tar.FormatPAX,
		})
		if err != nil {
			return err
		}
		if _, err := tw.Write(b); err != nil {
			return err
		}
	}
	return tw.Close()
}

// folderName makes a machine's name usable as the one folder of an archive.
func folderName(machine string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_.", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, machine)
	if name = strings.TrimLeft(name, "."); name == "" {
		return "machine"
	}
	return name
}

// readTar reads the wanted files of a .tar.gz into memory; nothing is ever unpacked to
// disk, so nothing can escape.
func readTar(r io.Reader) (*fileSet, error) {
	gz, err := kgzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("want a folder or a .tar.gz: %w", err)
	}
	files := &fileSet{byName: map[string][]byte{}}
	bounded := &io.LimitedReader{R: gz, N: maxTotal + maxFile}
	tr := tar.NewReader(bounded)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			if bounded.N <= 0 {
				return nil, fmt.Errorf("unpacks to more than %d MiB", maxTotal>>20)
			}
			return nil, err
		}
		if err := readTarEntry(tr, h, files); err != nil {
			return nil, err
		}
	}
}

func readTarEntry(tr io.Reader, h *tar.Header, files *fileSet) error {
	name := path.Clean(h.Name)
	switch {
	case !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)):
		return fmt.Errorf("%q points outside the archive", h.Name)
	case h.Typeflag == tar.TypeDir:
		return nil
	case h.Typeflag != tar.TypeReg:
		if wanted(name) {
			return fmt.Errorf("%q is a link or a device, not a file", h.Name)
		}
		return nil
	case !wanted(name):
		return nil
	case h.Size > maxFile:
		return fmt.Errorf("%s is larger than %d MiB", name, maxFile>>20)
	}
	b := make([]byte, h.Size)
	if _, err := io.ReadFull(tr, b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return files.add(name, b)
}
