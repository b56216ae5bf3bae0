package provision

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rackproof/rackproof/profiles"
)

// FirmwareWish is what the batch says of firmware. Without Update it is compared and
// never changed.
type FirmwareWish struct {
	Folder string `json:"folder,omitempty"` // <folder>/<profile>/<component>/<version>/<one file>
	Update bool   `json:"update,omitempty"`
}

// FirmwareFile is the newest image of one component in the folder.
type FirmwareFile struct {
	Version string `json:"version"`
	File    string `json:"file"`
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"` // when the batch was read; another file is not installed
}

// FirmwareImages finds the newest image of each component for machines of one profile.
// Images are made for a model: those of another profile are never looked at.
func FirmwareImages(folder, profile string) (map[string]FirmwareFile, error) {
	components, err := os.ReadDir(filepath.Join(folder, profile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("firmware folder: %w", err)
	}
	out := map[string]FirmwareFile{}
	for _, c := range components {
		if !c.IsDir() {
			continue
		}
		newest, err := newestImage(filepath.Join(folder, profile, c.Name()))
		if err != nil {
			return nil, err
		}
		if newest.File != "" {
			out[c.Name()] = newest
		}
	}
	return out, nil
}

func newestImage(dir string) (newest FirmwareFile, err error) {
	versions, err := os.ReadDir(dir)
	if err != nil {
		return newest, fmt.Errorf("firmware folder: %w", err)
	}
	for _, v := range versions {
		if !v.IsDir() {
			continue
		}
		order, ok := profiles.CompareVersions(v.Name(), newest.Version)
		if newest.Version != "" && !ok {
			return newest, fmt.Errorf("firmware folder: nothing says whether %s or %s is the newer in %s; leave one of them", newest.Version, v.Name(), dir)
		}
		if newest.Version == "" || order > 0 {
			newest.Version = v.Name()
		}
	}
	if newest.Version == "" {
		return newest, nil
	}
	files, err := os.ReadDir(filepath.Join(dir, newest.Version))
	if err != nil {
		return newest, fmt.Errorf("firmware folder: %w", err)
	}
	if len(files) != 1 || !files[0].Type().IsRegular() {
		return newest, fmt.Errorf("firmware folder: %s must hold exactly one file, the image", filepath.Join(dir, newest.Version))
	}
	newest.File = filepath.Join(dir, newest.Version, files[0].Name())
	newest.Size, newest.SHA256, err = hashFile(newest.File)
	return newest, err
}

func hashFile(path string) (size int64, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", fmt.Errorf("firmware image: %w", err)
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return 0, "", fmt.Errorf("firmware image %s: %w", path, err)
	}
	return size, hex.EncodeToString(h.Sum(nil)), nil
}

// unchanged makes sure that the file is the one that the plan named.
func (f FirmwareFile) unchanged() error {
	size, sum, err := hashFile(f.File)
	if err == nil && (size != f.Size || sum != f.SHA256) {
		err = fmt.Errorf("firmware image %s is another file than when the batch was read (SHA-256 %.16s…, was %.16s…)", f.File, sum, f.SHA256)
	}
	return err
}
