package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// ImageOptions say where the lab's image is kept. The zero value is usable.
type ImageOptions struct {
	Cache string       // "" = rackproof/lab in the user's cache folder
	Log   *slog.Logger // may be nil
}

// Files of an image, as netboot serves them.
const (
	imageKernel   = "vmlinuz"
	imageInitrd   = "initrd"
	imageCmdline  = "cmdline"
	imageStub     = "boot.stub"
	imageManifest = "manifest.json"
)

// The kernel's messages go to the serial line. Without mitigations QEMU has a tenth
// less to do until the host is up.
const kernelLine = "console=ttyS0,115200 panic=0 mitigations=off\n"

// Manifest says what an image was made of.
type Manifest struct {
	Recipe   string        `json:"recipe"` // hash over everything but versions
	Made     time.Time     `json:"made"`
	Seconds  float64       `json:"seconds"`
	Kernel   string        `json:"kernel"`
	Packages []packVersion `json:"packages"`
	Size     int64         `json:"initrd_bytes"` // unpacked
}

type packVersion struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// BuildImage returns the folder of the image that the lab's machines boot over the
// network: vmlinuz, initrd, cmdline and boot.stub, as netboot serves them. It is
// made of Debian packages, in well under a minute, unless one of the same recipe is
// in the cache. Two callers at once make it once; one that is killed leaves nothing
// that another takes for an image.
func BuildImage(ctx context.Context, o ImageOptions) (string, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("lab image: %w; name a folder with --cache", err)
		}
		o.Cache = filepath.Join(base, "rackproof", "lab")
	}
	sources, err := sourcesOf("/etc/apt")
	if err != nil {
		return "", err
	}
	hash, err := recipeHash(sources)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(o.Cache, "images", "lab-"+hash)
	if isImage(dir) {
		return dir, nil
	}
	unlock, err := lockCache(ctx, o.Cache)
	if err != nil {
		return "", fmt.Errorf("lab image: %w", err)
	}
	defer unlock()
	if isImage(dir) { // another process made it while we waited
		return dir, nil
	}
	o.Log.Info("making the lab's image", "dir", dir)
	if err := makeImage(ctx, o, hash, dir); err != nil {
		return "", fmt.Errorf("lab image: %w", err)
	}
	return dir, nil
}

// isImage reports whether dir is a whole image. It came there by one rename.
func isImage(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, imageManifest))
	return err == nil
}

// workPrefix begins the names of folders in which an image is being made.
const workPrefix = ".making-"

// makeImage makes the image beside its place and moves it there. The caller holds
// the lock of the cache, so what lies there of other makers is left over.
func makeImage(ctx context.Context, o ImageOptions, hash, dir string) (err error) {
	began := time.Now()
	left, err := filepath.Glob(filepath.Join(o.Cache, workPrefix+"*"))
	if err != nil {
		return err
	}
	for _, l := range left {
		if err := os.RemoveAll(l); err != nil {
			return err
		}
	}
	packs, err := aptArchive{dir: filepath.Join(o.Cache, "apt")}.fetch(ctx, imagePackages())
	if err != nil {
		return err
	}
	o.Log.Info("packages are there", "packages", len(packs), "seconds", since(began))
	work, err := os.MkdirTemp(o.Cache, workPrefix)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	m := Manifest{Recipe: hash, Made: began.UTC().Truncate(time.Second)}
	for _, p := range packs {
		m.Packages = append(m.Packages, packVersion{p.Name, p.Version})
	}
	b := imageBuilder{work: work, out: filepath.Join(work, "image"), log: o.Log, began: began}
	if err := b.build(ctx, aptArchive{dir: filepath.Join(o.Cache, "apt")}, packs, &m); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	return os.Rename(b.out, dir)
}

func since(t time.Time) float64 { return float64(time.Since(t).Milliseconds()) / 1000 }

// imageBuilder makes one image in a folder of its own.
type imageBuilder struct {
	work  string
	out   string // the image
	log   *slog.Logger
	began time.Time
}

func (b imageBuilder) build(ctx context.Context, a aptArchive, packs []debPackage, m *Manifest) error {
	dir := filepath.Join(b.work, "root")
	stage := filepath.Join(b.work, "modules")
	for _, d := range []string{dir, stage, b.out} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, l := range usrMerged {
		if err := root.Symlink("usr/"+l, l); err != nil {
			return err
		}
	}
	files := make([]string, len(packs))
	for i, p := range packs {
		files[i] = filepath.Join(a.debs(), p.file())
	}
	if err := unpackPackages(ctx, files, root); err != nil {
		return err
	}
	b.log.Info("packages are unpacked", "seconds", since(b.began))
	t := newTree(root)
	if err := t.fill(); err != nil {
		return err
	}
	if err := t.addModules(ctx, stage); err != nil {
		return err
	}
	_, m.Kernel, err = moduleFolder(root)
	if err != nil {
		return err
	}
	return b.write(root, t, m)
}

// write makes the files of the image.
func (b imageBuilder) write(root *os.Root, t *tree, m *Manifest) error {
	kernel, err := kernelFile(root)
	if err != nil {
		return err
	}
	for from, to := range map[string]string{kernel: imageKernel, stubFile: imageStub} {
		content, err := root.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(b.out, to), content, 0o644); err != nil {
			return err
		}
	}
	if m.Size, err = t.writeTo(filepath.Join(b.out, imageInitrd)); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.out, imageCmdline), []byte(kernelLine), 0o644); err != nil {
		return err
	}
	m.Seconds = since(b.began)
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	b.log.Info("the lab's image is made", "seconds", m.Seconds, "files", len(t.entries), "bytes", m.Size)
	return os.WriteFile(filepath.Join(b.out, imageManifest), append(text, '\n'), 0o644)
}

// writeTo writes the tree as the kernel wants it, and returns its unpacked size.
func (t *tree) writeTo(file string) (int64, error) {
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	z, err := zstd.NewWriter(f)
	if err != nil {
		return 0, errors.Join(err, f.Close())
	}
	n, err := t.write(z)
	return n, errors.Join(err, z.Close(), f.Close())
}

// fill puts everything into the tree but the kernel's modules.
func (t *tree) fill() error {
	for _, d := range []string{"proc", "sys", "dev", "run", "mnt", "var/log", "var/lib/rasdaemon", "etc/nvme"} {
		t.folder(d, 0o755)
	}
	t.entries["."] = treeEntry{mode: fs.ModeDir | 0o755} // else everybody may write there, and sshd trusts no key
	t.folder("root", 0o700)
	t.folder("tmp", 0o777|fs.ModeSticky)
	for _, p := range imagePicks {
		if err := t.pick(p); err != nil {
			return fmt.Errorf("take of package %s: %w", p.Package, err)
		}
	}
	for _, f := range imageExtras {
		if err := t.add(f); err != nil {
			return err
		}
	}
	for name, target := range imageLinks {
		t.put(name, treeEntry{mode: fs.ModeSymlink | 0o777, link: target})
	}
	for _, a := range applets {
		t.put("usr/bin/"+a, treeEntry{mode: fs.ModeSymlink | 0o777, link: "busybox"})
	}
	list := strings.Join(standIns, "\n") + "\n"
	t.put("etc/rackproof/stand-ins", treeEntry{mode: 0o644, data: []byte(list)})
	return t.ours()
}

func (t *tree) pick(p packagePick) error {
	for _, name := range p.Programs {
		err := t.add("usr/bin/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			err = t.add("usr/sbin/" + name)
		}
		if err != nil {
			return err
		}
	}
	for _, pattern := range p.Files {
		found, err := fs.Glob(t.root.FS(), pattern)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("%s is not in it", pattern)
		}
		for _, f := range found {
			if err := t.add(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// ours adds the files that stand beside this code. Scripts may be run, and the
// rest may be read; shadow by root alone.
func (t *tree) ours() error {
	return fs.WalkDir(imageFiles, "image", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := imageFiles.ReadFile(name)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		switch {
		case path.Base(name) == "shadow":
			mode = 0o600
		case strings.HasPrefix(string(b), "#!"):
			mode = 0o755
		}
		t.put(strings.TrimPrefix(name, "image/"), treeEntry{mode: mode, data: b})
		return nil
	})
}
