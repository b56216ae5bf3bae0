package provision

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// KnownBMCs keeps the certificates of BMCs in a file, one "address sha256 [who]" a
// line, where who is the machine's UUID, else its BMC's MAC, once that is known.
// The last line counts, and a dash for the sha256 forgets the pin. A pin belongs to the BMC and not to its address, so a BMC
// that moved is still known. It is a redfish.PinStore.
type KnownBMCs struct {
	path string
	mu   sync.Mutex
}

// KnownBMC is one line.
type KnownBMC struct {
	Addr   string `json:"addr"`          // with its port
	SHA256 string `json:"sha256"`        // of the certificate, lower-case hex; over IPMI "guid:UUID" or "mac:MAC"
	Who    string `json:"who,omitempty"` // UUID or MAC; "" = not known yet
}

// OpenKnownBMCs opens known_bmcs in the state folder.
func OpenKnownBMCs(state string) *KnownBMCs {
	return &KnownBMCs{path: filepath.Join(state, "known_bmcs")}
}

// last returns the last line that is as wanted.
func (k *KnownBMCs) last(wanted func(KnownBMC) bool) (found KnownBMC) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, err := os.Open(k.path)
	if err != nil {
		return found
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		b := KnownBMC{Addr: fields[0], SHA256: fields[1]}
		if len(fields) > 2 {
			b.Who = fields[2]
		}
		if wanted(b) {
			found = b
		}
	}
	return found
}

// Pin implements redfish.PinStore.
func (k *KnownBMCs) Pin(key string) (sha256 string, ok bool) {
	b := k.last(func(b KnownBMC) bool { return b.Addr == key })
	if b.SHA256 == released {
		return "", false
	}
	return b.SHA256, b.SHA256 != ""
}

// Known implements redfish.PinStore: a certificate that a BMC had once, and has
// no more, is not known.
func (k *KnownBMCs) Known(sha256 string) bool {
	b := k.last(func(b KnownBMC) bool { return b.Who != "" && b.SHA256 == sha256 })
	return b.Who != "" && k.Of(b.Who).SHA256 == sha256
}

// Of returns where the BMC of a machine was seen last, and its certificate. Where it
// was seen over IPMI, which shows none, does not count.
func (k *KnownBMCs) Of(who string) KnownBMC {
	b := k.last(func(b KnownBMC) bool {
		return b.Who != "" && certified(b.SHA256) && (b.Who == who || sameUUID(b.Who, who))
	})
	if b.SHA256 == released {
		return KnownBMC{}
	}
	return b
}

// At returns who was known last at an address, "" when nobody was.
func (k *KnownBMCs) At(addr string) string {
	return k.last(func(b KnownBMC) bool { return b.Addr == addr && b.Who != "" }).Who
}

// SetPin implements redfish.PinStore.
func (k *KnownBMCs) SetPin(key, sha256 string) error { return k.add(key, sha256) }

// released stands in a line whose address has no pin any more.
const released = "-"

// Release forgets the pin of an address: the BMC there is not the one meant, and a
// person is asked to put that right. The BMC itself stays known.
func (k *KnownBMCs) Release(addr string) error { return k.add(addr, released) }

// sshKeys are the pinned SSH host keys of the BMC at an address ("ssh/KIND/HOST:PORT").
func (k *KnownBMCs) sshKeys(addr string) (keys []KnownBMC) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	k.last(func(b KnownBMC) bool {
		_, place, _ := strings.Cut(strings.TrimPrefix(b.Addr, "ssh/"), "/")
		at, _, err := net.SplitHostPort(place)
		if strings.HasPrefix(b.Addr, "ssh/") && err == nil && at == host {
			keys = slices.DeleteFunc(keys, func(had KnownBMC) bool { return had.Addr == b.Addr })
			if b.SHA256 != released {
				keys = append(keys, b)
			}
		}
		return false
	})
	return keys
}

// Forget forgets the pin of an address and of the BMC that was known there, or of
// the one called who: a person has seen that a new certificate is right. It says
// what it forgot.
func (k *KnownBMCs) Forget(addr, who string) (gone []KnownBMC, err error) {
	if pin, ok := k.Pin(addr); ok {
		gone = append(gone, KnownBMC{Addr: addr, SHA256: pin, Who: k.At(addr)})
		err = k.Release(addr)
	}
	for _, key := range k.sshKeys(addr) {
		gone = append(gone, key)
		err = errors.Join(err, k.Release(key.Addr))
	}
	who = or(who, k.At(addr))
	b := k.Of(who)
	if who == "" || b.SHA256 == "" || err != nil {
		return gone, err
	}
	if !slices.Contains(gone, b) {
		gone = append(gone, b)
	}
	return gone, k.add(b.Addr, released, b.Who)
}

// Bind says whose BMC showed a certificate at an address.
func (k *KnownBMCs) Bind(addr, sha256, who string) error {
	if k.last(func(b KnownBMC) bool { return b.Addr == addr }) == (KnownBMC{addr, sha256, who}) {
		return nil
	}
	return k.add(addr, sha256, who)
}

// add appends a line whole, so that other processes may do the same.
func (k *KnownBMCs) add(words ...string) error {
	for _, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\r\n") {
			return fmt.Errorf("pin of %q: not one word", w)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	f, err := os.OpenFile(k.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep certificate pin: %w", err)
	}
	_, err = f.WriteString(strings.Join(words, " ") + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}
