package lab

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// usrMerged are the folders that are links into /usr on a Debian system.
var usrMerged = []string{"bin", "sbin", "lib", "lib64"}

// unpackWanted are the folders of packages that are unpacked.
var unpackWanted = []string{"usr/bin/", "usr/sbin/", "usr/lib/", "usr/lib64/", "usr/share/misc/", "usr/share/perl/", "boot/vmlinuz-"}

// unpackUnwanted are folders below them that nothing of the image uses.
var unpackUnwanted = []string{"usr/lib/python3", "usr/lib/udev/", "usr/lib/systemd/system", "usr/lib/debug"}

// unpackPackages lays the files of packages under root, without running anything of theirs.
func unpackPackages(ctx context.Context, files []string, root *os.Root) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU()) // each is decompressed by one thread
	for _, f := range files {
		group.Go(func() error {
			if err := unpackOne(ctx, f, root); err != nil {
				return fmt.Errorf("unpack %s: %w", filepath.Base(f), err)
			}
			return nil
		})
	}
	return group.Wait()
}

func unpackOne(ctx context.Context, file string, root *os.Root) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends dpkg-deb where reading fails
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = untar(out, root)
	if err != nil {
		cancel()
	}
	return errors.Join(err, cmd.Wait())
}

// untar writes the wanted entries of a package.
func untar(r io.Reader, root *os.Root) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, r) // padding behind the end mark
			return err
		}
		if err != nil {
			return err
		}
		name := usrPath(path.Clean("/" + h.Name)[1:])
		if !isWanted(name) {
			continue
		}
		if err := writeEntry(root, name, h, t); err != nil {
			return err
		}
	}
}

// usrPath is a path of a package on a system where /bin, /lib … are links into /usr.
func usrPath(name string) string {
	top, _, _ := strings.Cut(name, "/")
	if slices.Contains(usrMerged, top) {
		return "usr/" + name
	}
	return name
}

func isWanted(name string) bool {
	for _, u := range unpackUnwanted {
		if strings.HasPrefix(name, u) {
			return false
		}
	}
	for _, w := range unpackWanted {
		if strings.HasPrefix(name, w) {
			return true
		}
	}
	return false
}

func writeEntry(root *os.Root, name string, h *tar.Header, r io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		return ignoreExists(root.Symlink(h.Linkname, name))
	case tar.TypeLink:
		return ignoreExists(root.Link(usrPath(path.Clean("/" + h.Linkname)[1:]), name))
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, h.FileInfo().Mode().Perm()|0o200)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		return errors.Join(err, f.Close())
	}
	return nil
}

// ignoreExists lets two packages bring the same link.
func ignoreExists(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
