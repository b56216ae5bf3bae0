package lab

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// tree is what the image will hold, by path without a leading slash. Content of
// packages is read when it is written out.
type tree struct {
	root    *os.Root // unpacked packages
	entries map[string]treeEntry
}

// treeEntry is a file (own content, or that of the unpacked one), a link or a folder.
type treeEntry struct {
	mode fs.FileMode
	data []byte // of a file of ours
	link string // of a symbolic link
	from string // path under root of a package's file
}

func newTree(root *os.Root) *tree { return &tree{root: root, entries: map[string]treeEntry{}} }

// folder adds a folder and those above it.
func (t *tree) folder(name string, mode fs.FileMode) {
	if name == "." || name == "" {
		return
	}
	if _, there := t.entries[name]; there {
		return
	}
	t.folder(path.Dir(name), 0o755)
	t.entries[name] = treeEntry{mode: fs.ModeDir | mode}
}

func (t *tree) put(name string, e treeEntry) {
	t.folder(path.Dir(name), 0o755)
	t.entries[name] = e
}

// add takes a file of a package over, with what it links to, what interprets it and
// the libraries it is linked with.
func (t *tree) add(name string) error {
	name = usrPath(name)
	if _, there := t.entries[name]; there {
		return nil
	}
	info, err := t.root.Lstat(name)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := t.root.Readlink(name)
		if err != nil {
			return err
		}
		t.put(name, treeEntry{mode: fs.ModeSymlink | 0o777, link: target})
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(name), target)
		}
		if err := t.add(strings.TrimPrefix(target, "/")); err != nil {
			return fmt.Errorf("%s is a link to nothing: %w", name, err)
		}
		return nil
	case info.IsDir():
		return t.addFolder(name)
	}
	t.put(name, treeEntry{mode: info.Mode().Perm(), from: name})
	return t.addNeeds(name)
}

func (t *tree) addFolder(name string) error {
	return fs.WalkDir(t.root.FS(), name, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return t.add(p)
	})
}

// addNeeds adds what a program or library needs to run.
func (t *tree) addNeeds(name string) error {
	f, err := t.root.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, 256)
	n, _ := f.ReadAt(head, 0)
	head = head[:n]
	if script, ok := bytes.CutPrefix(head, []byte("#!")); ok {
		line, _, _ := bytes.Cut(script, []byte("\n"))
		words := strings.Fields(string(line))
		if len(words) == 0 || words[0] == "/bin/sh" || !t.has(words[0]) {
			return nil
		}
		return t.add(strings.TrimPrefix(words[0], "/"))
	}
	if !bytes.HasPrefix(head, []byte(elf.ELFMAG)) || strings.HasSuffix(name, ".ko") {
		return nil
	}
	b, err := elf.NewFile(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return t.addLinked(name, b)
}

func (t *tree) has(abs string) bool {
	_, err := t.root.Lstat(usrPath(strings.TrimPrefix(abs, "/")))
	return err == nil
}

// addLinked adds the libraries of a binary, and the loader that its head names.
func (t *tree) addLinked(name string, b *elf.File) error {
	for _, p := range b.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		loader := make([]byte, p.Filesz)
		if _, err := p.ReadAt(loader, 0); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := t.add(strings.Trim(string(loader), "/\x00")); err != nil {
			return err
		}
	}
	needed, err := b.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	search, err := searchPath(name, b)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, lib := range needed {
		if err := t.addLibrary(lib, search); err != nil {
			return fmt.Errorf("%s is linked with %s: %w", name, lib, err)
		}
	}
	return nil
}

// searchPath is where the loader looks for the libraries of a binary.
func searchPath(name string, b *elf.File) ([]string, error) {
	dirs := []string{multiarch, "usr/lib", "usr/lib64"}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		values, err := b.DynString(tag)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			for d := range strings.SplitSeq(v, ":") {
				d = strings.NewReplacer("$ORIGIN", "/"+path.Dir(name), "${ORIGIN}", "/"+path.Dir(name)).Replace(d)
				dirs = slices.Insert(dirs, 0, usrPath(strings.TrimPrefix(path.Clean(d), "/")))
			}
		}
	}
	return dirs, nil
}

func (t *tree) addLibrary(lib string, search []string) error {
	for _, dir := range search {
		err := t.add(path.Join(dir, lib))
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("it is in none of the packages: %w", fs.ErrNotExist)
}
