package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// moduleFolder is where the one kernel of an unpacked tree keeps its modules.
func moduleFolder(root *os.Root) (dir, version string, err error) {
	found, err := fs.ReadDir(root.FS(), "usr/lib/modules")
	if err != nil {
		return "", "", fmt.Errorf("the kernel's modules: %w", err)
	}
	if len(found) != 1 {
		return "", "", fmt.Errorf("the packages bring %d kernels, want one", len(found))
	}
	return "usr/lib/modules/" + found[0].Name(), found[0].Name(), nil
}

// depmod indexes the modules under dir/lib/modules. The program is that of the
// packages under root, so that none is needed here.
func depmod(ctx context.Context, root, dir, version string) error {
	libs := filepath.Join(root, filepath.FromSlash(multiarch))
	cmd := exec.CommandContext(ctx, filepath.Join(libs, "ld-linux-x86-64.so.2"), "--library-path", libs,
		"--argv0", "depmod", filepath.Join(root, "usr", "bin", "kmod"), "-b", dir, version)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("index the kernel's modules: %w: %s", err, lastLine(string(out)))
	}
	return nil
}

// addModules adds modules of the kernel and what they need, with an index of those
// alone. stage is an empty folder to make it in.
func (t *tree) addModules(ctx context.Context, stage string) error {
	dir, version, err := moduleFolder(t.root)
	if err != nil {
		return err
	}
	if err := depmod(ctx, t.root.Name(), t.root.Name(), version); err != nil {
		return err
	}
	files, err := moduleFiles(t.root, dir, imageModules)
	if err != nil {
		return err
	}
	for _, name := range []string{"modules.builtin", "modules.builtin.modinfo", "modules.order"} {
		files = append(files, path.Join(dir, name))
	}
	for _, f := range files {
		t.put(f, treeEntry{mode: 0o644, from: f})
		to := filepath.Join(stage, strings.TrimPrefix(f, "usr/"))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.Link(filepath.Join(t.root.Name(), f), to); err != nil {
			return err
		}
	}
	if err := depmod(ctx, t.root.Name(), stage, version); err != nil {
		return err
	}
	return t.addIndex(dir, filepath.Join(stage, "lib", "modules", version))
}

// addIndex adds what depmod wrote for the modules of the image.
func (t *tree) addIndex(dir, stage string) error {
	index, err := filepath.Glob(filepath.Join(stage, "modules.*"))
	if err != nil {
		return err
	}
	for _, f := range index {
		name := path.Join(dir, filepath.Base(f))
		if _, there := t.entries[name]; there {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		t.put(name, treeEntry{mode: 0o644, data: b})
	}
	return nil
}

// moduleFiles returns the files of modules and of all that they depend on. A module
// that is built into the kernel has none.
func moduleFiles(root *os.Root, dir string, names []string) ([]string, error) {
	dep, err := root.ReadFile(path.Join(dir, "modules.dep"))
	if err != nil {
		return nil, err
	}
	built, err := root.ReadFile(path.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	known := map[string]string{} // by name: its line of modules.dep, or "" where built in
	for line := range strings.Lines(string(built)) {
		known[moduleName(strings.TrimSpace(line))] = ""
	}
	for line := range strings.Lines(string(dep)) {
		file, _, _ := strings.Cut(line, ":")
		known[moduleName(file)] = strings.TrimSpace(line)
	}
	var files []string
	for _, name := range names {
		line, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("the kernel has no module %s", name)
		}
		for f := range strings.FieldsSeq(strings.Replace(line, ":", " ", 1)) {
			files = append(files, path.Join(dir, f))
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// moduleName is the name of the module in a file: "kernel/fs/fat/vfat.ko.xz" is vfat.
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".")
	return strings.ReplaceAll(name, "-", "_")
}

// kernelFile returns the kernel itself.
func kernelFile(root *os.Root) (string, error) {
	found, err := fs.Glob(root.FS(), "boot/vmlinuz-*")
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", errors.New("the packages bring no kernel, or several")
	}
	return found[0], nil
}
