package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sync/errgroup"
)

// aptArchive fetches packages as a system would that has none installed, from where
// the host takes its own, and without changing anything of the host.
type aptArchive struct {
	dir string // lists and packages; kept, so that a rebuild downloads only what is new
}

// sourcesOf are the texts by which apt knows where packages come from.
func sourcesOf(etc string) ([]byte, error) {
	var all bytes.Buffer
	for _, pattern := range []string{"sources.list", "sources.list.d/*.list", "sources.list.d/*.sources"} {
		files, err := filepath.Glob(filepath.Join(etc, pattern))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return nil, fmt.Errorf("apt's sources: %w", err)
			}
			all.Write(b)
		}
	}
	if all.Len() == 0 {
		return nil, fmt.Errorf("%s names no source of packages: the lab's image is made of Debian packages", etc)
	}
	return all.Bytes(), nil
}

func (a aptArchive) debs() string { return filepath.Join(a.dir, "cache", "archives") }

func (a aptArchive) prepare() error {
	for _, d := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.dir, d), 0o755); err != nil {
			return fmt.Errorf("apt's folders for the lab's image: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(a.dir, "status"), nil, 0o644); err != nil { // nothing is installed
		return fmt.Errorf("apt's folders for the lab's image: %w", err)
	}
	return nil
}

// run calls one of apt's programs, in the folder of packages.
func (a aptArchive) run(ctx context.Context, program string, args ...string) (string, error) {
	options := []string{
		"-qq", "-o", "Dir::State::lists=" + filepath.Join(a.dir, "lists"), "-o", "Dir::Cache=" + filepath.Join(a.dir, "cache"),
		"-o", "Dir::Cache::pkgcache=pkgcache.bin", "-o", "Dir::Cache::srcpkgcache=srcpkgcache.bin", // containers often switch them off
		"-o", "Dir::State::status=" + filepath.Join(a.dir, "status"), "-o", "APT::Install-Recommends=false",
		"-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none", "-o", "Acquire::PDiffs=false", "-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false", "-o", "Acquire::Retries=3",
		"-o", "APT::Keep-Downloaded-Packages=true", "-o", "Debug::NoLocking=true",
	}
	cmd := exec.CommandContext(ctx, program, append(options, args...)...)
	cmd.Dir = a.debs()
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if errors.Is(err, exec.ErrNotFound) {
			return "", fmt.Errorf("the lab's image is made of Debian packages, and there is no %s here: run the lab on Debian or Ubuntu", program)
		}
		return "", fmt.Errorf("%s %s: %w: %s", program, args[0], err, lastLine(errs.String()))
	}
	return out.String(), nil
}

// debPackage is one package that was resolved.
type debPackage struct{ Name, Version, Arch string }

// file is its name in apt's folder of packages.
func (p debPackage) file() string {
	return p.Name + "_" + strings.ReplaceAll(p.Version, ":", "%3a") + "_" + p.Arch + ".deb"
}

var (
	kernelName   = regexp.MustCompile(`Depends: (linux-image-[0-9]\S+)`)
	controlField = regexp.MustCompile(`(?m)^(Version|Architecture): (\S+)$`)
	// "Inst libc6 (2.36-9+deb12u14 Debian:12.15/oldstable [amd64])"
	instLine = regexp.MustCompile(`(?m)^Inst (\S+) \((\S+) [^)]*\[(\w+)\]\)`)
)

// fetch downloads names with all that they depend on, and the kernel of the day
// alone: what would install it is not needed.
func (a aptArchive) fetch(ctx context.Context, names []string) ([]debPackage, error) {
	if err := a.prepare(); err != nil {
		return nil, err
	}
	if _, err := a.run(ctx, "apt-get", "update"); err != nil {
		return nil, err
	}
	kernel, err := a.kernel(ctx)
	if err != nil {
		return nil, err
	}
	group, both := errgroup.WithContext(ctx)
	for _, args := range [][]string{{"download", kernel.Name}, append([]string{"install", "--yes", "--download-only"}, names...)} {
		group.Go(func() error {
			_, err := a.run(both, "apt-get", args...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	plan, err := a.run(ctx, "apt-get", append([]string{"install", "--simulate"}, names...)...)
	if err != nil {
		return nil, err
	}
	packs := append(plannedPackages(plan), kernel)
	for _, p := range packs {
		if _, err := os.Stat(filepath.Join(a.debs(), p.file())); err != nil {
			return nil, fmt.Errorf("apt-get did not download %s: %w", p.Name, err)
		}
	}
	return packs, nil
}

// plannedPackages reads what apt-get --simulate says it would install.
func plannedPackages(plan string) []debPackage {
	var packs []debPackage
	for _, m := range instLine.FindAllStringSubmatch(plan, -1) {
		packs = append(packs, debPackage{Name: m[1], Version: m[2], Arch: m[3]})
	}
	return packs
}

// kernel is the kernel package of the day.
func (a aptArchive) kernel(ctx context.Context) (debPackage, error) {
	out, err := a.run(ctx, "apt-cache", "depends", kernelPackage)
	if err != nil {
		return debPackage{}, err
	}
	m := kernelName.FindStringSubmatch(out)
	if m == nil {
		return debPackage{}, fmt.Errorf("apt-cache depends %s names no kernel: %q", kernelPackage, lastLine(out))
	}
	p := debPackage{Name: m[1]}
	if out, err = a.run(ctx, "apt-cache", "show", "--no-all-versions", p.Name); err != nil {
		return debPackage{}, err
	}
	for _, m := range controlField.FindAllStringSubmatch(out, -1) {
		if m[1] == "Version" {
			p.Version = m[2]
		} else {
			p.Arch = m[2]
		}
	}
	return p, nil
}

// lastLine is the last line of what a program said, for an error.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
