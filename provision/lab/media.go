package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// mediaLimit bounds an image that a BMC is told to attach.
const mediaLimit = 8 << 30

// InsertMedia attaches the image at an HTTP URL as a CD in the machine's USB
// drive. It is fetched whole first, from inside the lab's network.
func (m *Machine) InsertMedia(ctx context.Context, image string) error {
	if err := m.EjectMedia(ctx); err != nil {
		return err
	}
	file := m.spec.Path("media.iso")
	if err := fetch(ctx, image, file); err != nil {
		return fmt.Errorf("%s: insert media: %w", m.spec.Name, err)
	}
	return m.change(ctx, func() (bool, error) {
		if v := m.running(); v != nil {
			if err := v.insertMedia(ctx, file); err != nil {
				return false, fmt.Errorf("%s: insert media: %w", m.spec.Name, err)
			}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.media = file
		m.note("media inserted %s", image)
		return false, nil
	})
}

// EjectMedia empties the drive. An empty drive stays so.
func (m *Machine) EjectMedia(ctx context.Context) error {
	return m.change(ctx, func() (bool, error) {
		m.mu.Lock()
		file := m.media
		m.mu.Unlock()
		if file == "" {
			return false, nil
		}
		if v := m.running(); v != nil {
			if err := v.ejectMedia(ctx); err != nil {
				return false, fmt.Errorf("%s: eject media: %w", m.spec.Name, err)
			}
		}
		m.mu.Lock()
		m.media = ""
		m.mu.Unlock()
		m.note("media ejected")
		return false, os.Remove(file)
	})
}

// fetch copies url into file.
func fetch(ctx context.Context, url, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(resp.Body, mediaLimit+1))
	err = errors.Join(err, f.Close())
	switch {
	case err == nil && n > mediaLimit:
		err = fmt.Errorf("%s: larger than %d bytes", url, int64(mediaLimit))
	case err == nil && n == 0:
		err = fmt.Errorf("%s: empty", url)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}

// insertMedia puts a file into the drive of a running machine.
func (v *vm) insertMedia(ctx context.Context, file string) error {
	return v.steps(ctx,
		step{"blockdev-add", map[string]any{"driver": "raw", "node-name": "media", "read-only": true, "file": map[string]any{"driver": "file", "filename": file}}},
		step{"blockdev-open-tray", map[string]any{"id": "cd0", "force": true}},
		step{"blockdev-insert-medium", map[string]any{"id": "cd0", "node-name": "media"}},
		step{"blockdev-close-tray", map[string]any{"id": "cd0"}})
}

// ejectMedia empties the drive, also one that the host has locked.
func (v *vm) ejectMedia(ctx context.Context) error {
	return v.steps(ctx,
		step{"blockdev-open-tray", map[string]any{"id": "cd0", "force": true}},
		step{"blockdev-remove-medium", map[string]any{"id": "cd0"}},
		step{"blockdev-close-tray", map[string]any{"id": "cd0"}},
		step{"blockdev-del", map[string]any{"node-name": "media"}})
}

// step is one QMP command of several.
type step struct {
	command   string
	arguments map[string]any
}

// steps runs commands until one fails.
func (v *vm) steps(ctx context.Context, steps ...step) error {
	for _, s := range steps {
		if err := v.qmp.do(ctx, s.command, s.arguments, nil); err != nil {
			return err
		}
	}
	return nil
}
