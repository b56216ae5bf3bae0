package profiles

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// shipped are the profiles, specs and catalogues of this version of rackproof.
//
//go:embed *.yaml cpu/*.yaml gpu/*.yaml nic/*.yaml part/*.yaml storage/*.yaml specs/*.yaml catalog/*.yaml
var shipped embed.FS

// Folders of a library, beside which every other YAML file is a profile.
const (
	specFolder      = "specs"
	catalogueFolder = "catalog"
)

// partFolders hold the pieces that profiles extend. A part is no machine, and no machine is judged against one.
var partFolders = []string{"cpu", "gpu", "nic", "part", "storage"}

// Library finds profiles and specs by name: in the folders it was opened with, the last one first, then among
// those that ship. A name that ends in .yaml or .yml is a path and read as it is.
type Library struct {
	sources []source // looked through from the last to the first

	once         sync.Once // every profile carries the catalogue, so it is read once
	catalogue    *Catalogue
	catalogueErr error
}

// source is one folder of a library; label is how its files are called in messages.
type source struct {
	files fs.FS
	label string
}

// Open gives the library of what ships and of dirs, each laid out like this package's own folder: NAME.yaml,
// specs/NAME.yaml, catalog/*.yaml. A folder that does not exist adds nothing.
func Open(dirs ...string) *Library {
	lib := &Library{sources: []source{{files: shipped, label: "profiles"}}}
	for _, dir := range dirs {
		lib.sources = append(lib.sources, source{files: os.DirFS(dir), label: dir})
	}
	return lib
}

// Profile loads, resolves and checks a profile. The error of a file with mistakes is [Problems].
func (l *Library) Profile(name string) (*Profile, error) {
	file, b, err := l.read(profileKind, name)
	if err != nil {
		return nil, err
	}
	p, err := ParseProfile(file, b, l)
	if err != nil {
		return nil, err
	}
	return p, misnamed(file, name, p.Name)
}

// Spec loads, resolves and checks an acceptance spec. The error of a file with mistakes is [Problems].
func (l *Library) Spec(name string) (*Spec, error) {
	file, b, err := l.read(specKind, name)
	if err != nil {
		return nil, err
	}
	s, err := ParseSpec(file, b, l)
	if err != nil {
		return nil, err
	}
	return s, misnamed(file, name, s.Name)
}

// Load reads the file at path, whatever its name: a profile or an acceptance spec, as its schema says. The other
// one is nil.
func (l *Library) Load(path string) (*Profile, *Spec, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read profile or spec: %w", err)
	}
	doc, err := parseDocument(path, b)
	if err != nil {
		return nil, nil, err
	}
	if checkSchema(specKind, doc) == nil {
		s, err := ParseSpec(path, b, l)
		return nil, s, err
	}
	p, err := ParseProfile(path, b, l)
	return p, nil, err
}

// misnamed is the error of a library file that calls itself something else than it is looked up by: two names for
// one profile would end in two reports that seem to differ.
func misnamed(file, wanted, name string) error {
	if isPath(wanted) || wanted == name {
		return nil
	}
	return Problems{{Pos: Position{File: file}, Text: fmt.Sprintf("the file is found as %q but its name is %q; make them the same", wanted, name)}}
}

// ProfileNames lists the profiles of machines, in order. Parts are left out.
func (l *Library) ProfileNames() []string {
	return slices.DeleteFunc(l.names(profileKind), isPart)
}

// PartNames lists the parts that a profile may extend, in order: processors, GPUs, adapters, drives and what several
// of them have in common.
func (l *Library) PartNames() []string {
	return slices.DeleteFunc(l.names(profileKind), func(name string) bool { return !isPart(name) })
}

func isPart(name string) bool {
	folder, _, ok := strings.Cut(name, "/")
	return ok && slices.Contains(partFolders, folder)
}

// SpecNames lists the acceptance specs that can be named, in order.
func (l *Library) SpecNames() []string { return l.names(specKind) }

// Catalogue gives the shared catalogue: the files under catalog/, laid over each other. They are read once; what is
// given is the caller's own.
func (l *Library) Catalogue() (*Catalogue, error) {
	l.once.Do(func() { l.catalogue, l.catalogueErr = l.readCatalogue() })
	if l.catalogue == nil {
		return nil, l.catalogueErr
	}
	return l.catalogue.clone(), l.catalogueErr
}

func (l *Library) readCatalogue() (*Catalogue, error) {
	var catalogue Catalogue
	var problems Problems
	for _, s := range l.sources {
		names, err := fs.Glob(s.files, catalogueFolder+"/*.yaml")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.label, err)
		}
		for _, name := range names {
			b, err := fs.ReadFile(s.files, name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.label, err)
			}
			problems = append(problems, layCatalogue(path.Join(s.label, name), b, &catalogue)...)
		}
	}
	return &catalogue, problems.err()
}

// kind is what tells profiles and specs apart.
type kind struct {
	noun   string
	schema string
	folder string
}

var (
	profileKind = kind{noun: "profile", schema: ProfileSchema}
	specKind    = kind{noun: "spec", schema: SpecSchema, folder: specFolder}
)

func isPath(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// read finds the file of a name and gives how to call it in messages.
func (l *Library) read(k kind, name string) (file string, b []byte, err error) {
	if isPath(name) {
		b, err = os.ReadFile(name)
		if err != nil {
			return "", nil, fmt.Errorf("%s %s: %w", k.noun, name, err)
		}
		return name, b, nil
	}
	entry := path.Join(k.folder, name) + ".yaml"
	if !fs.ValidPath(entry) {
		return "", nil, l.unknown(k, name)
	}
	for _, s := range slices.Backward(l.sources) {
		b, err := fs.ReadFile(s.files, entry)
		if err == nil {
			return filepath.ToSlash(filepath.Join(s.label, entry)), b, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, fmt.Errorf("%s %s: %w", k.noun, name, err)
		}
	}
	return "", nil, l.unknown(k, name)
}

func (l *Library) unknown(k kind, name string) error {
	known := l.SpecNames()
	if k == profileKind {
		known = l.ProfileNames()
		if isPart(name) {
			known = l.PartNames()
		}
	}
	return &UnknownError{Noun: k.noun, Name: name, Known: known}
}

// UnknownError says that a library holds no such profile or spec.
type UnknownError struct {
	Noun, Name string
	Known      []string
}

// Error names the nearest one, or all.
func (e *UnknownError) Error() string {
	if near := Nearest(e.Name, e.Known); near != "" {
		return fmt.Sprintf("unknown %s %q, did you mean %q?", e.Noun, e.Name, near)
	}
	return fmt.Sprintf("unknown %s %q; known: %s", e.Noun, e.Name, strings.Join(e.Known, ", "))
}

func (l *Library) names(k kind) []string {
	var names []string
	for _, s := range l.sources {
		// A folder that cannot be read has no names; reading a profile from it says why.
		_ = fs.WalkDir(s.files, path.Join(".", k.folder), func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return fs.SkipDir
			case entry.IsDir() && file != k.folder && (file == specFolder || file == catalogueFolder):
				return fs.SkipDir
			case !entry.IsDir() && path.Ext(file) == ".yaml":
				names = append(names, strings.TrimPrefix(strings.TrimSuffix(file, ".yaml"), k.folder+"/"))
			}
			return nil
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}
