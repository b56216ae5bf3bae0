package provision

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// KnownBMCs keeps the certificates of BMCs in a file, one "address sha256 [uuid]"
// a line; the last line of an address counts. It is a redfish.PinStore.
type KnownBMCs struct {
	path string
	mu   sync.Mutex
}

// OpenKnownBMCs opens known_bmcs in the state folder.
func OpenKnownBMCs(state string) *KnownBMCs {
	return &KnownBMCs{path: filepath.Join(state, "known_bmcs")}
}

// Pin implements redfish.PinStore.
func (k *KnownBMCs) Pin(key string) (sha256 string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, err := os.Open(k.path)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && fields[0] == key {
			sha256, ok = fields[1], true
		}
	}
	return sha256, ok
}

// SetPin implements redfish.PinStore. A line is appended whole, so that other
// processes may do the same.
func (k *KnownBMCs) SetPin(key, sha256 string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if strings.ContainsAny(key+sha256, " \t\r\n") {
		return fmt.Errorf("pin of %q: not one word", key)
	}
	f, err := os.OpenFile(k.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep certificate pin: %w", err)
	}
	_, err = fmt.Fprintf(f, "%s %s\n", key, sha256)
	return errors.Join(err, f.Sync(), f.Close())
}
