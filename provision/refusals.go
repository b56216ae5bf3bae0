package provision

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// refusalWindow is how long a refused login is not tried again with the same
// password. Captured BMCs count failures over 30 s to 60 s and lock for as long;
// this leaves room for those that do not say.
const refusalWindow = 5 * time.Minute

// Refusals keeps refused logins in a file, so that no verb of any process sends
// one twice within a BMC's lockout window. It is a redfish.RefusalStore.
//
// A line is "address time salt mark", and "ipmi" behind it where the refusal is that of
// IPMI alone, or "taken" where it does not count any more. The mark is 16 bits of a salted hash of user and password: enough to tell
// a corrected password from the refused one, too little to find either.
//
// Redfish and IPMI mostly share an account and its count of failures, so what one refuses
// the other is not asked either. It is another matter where Redfish took the very
// password before: then IPMI is off for the user or keeps less of a long password, and
// another login over Redfish is no failure that a BMC counts.
type Refusals struct {
	path string
	now  func() time.Time

	mu   sync.Mutex
	took map[string]bool // logins over Redfish, by account and hash
	salt string
}

// ipmiAlone marks a refusal that does not count for Redfish.
const ipmiAlone = "ipmi"

// takenSince marks a login that was refused once and is good by now.
const takenSince = "taken"

// Taken says that the BMC takes a login that it had refused: a new password is refused
// before it is set.
func (r *Refusals) Taken(addr, user, password string) error {
	if _, refused := r.Refused(addr, user, password); !refused {
		return nil
	}
	return r.add(addr, user, password, " "+takenSince)
}

// OpenRefusals opens refused_logins in the state folder.
func OpenRefusals(state string) *Refusals {
	return &Refusals{path: filepath.Join(state, "refused_logins"), now: time.Now, took: map[string]bool{}, salt: rand.Text()}
}

// TookLogin tells the store of a Config that Redfish took its login, for refusals by
// another protocol that follow through the same Config.
func TookLogin(cfg redfish.Config) {
	r, ok := cfg.Refusals.(*Refusals)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.took[r.login(cfg.Addr, cfg.User, cfg.Password)] = true
}

// login names one in memory, without its password.
func (r *Refusals) login(addr, user, password string) string {
	sum := sha256.Sum256([]byte(r.salt + "\x00" + user + "\x00" + password))
	return account(addr) + " " + hex.EncodeToString(sum[:])
}

// atIPMI reports an address at the port of IPMI.
func atIPMI(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	return err == nil && port == "623"
}

// Refused implements redfish.RefusalStore.
func (r *Refusals) Refused(addr, user, password string) (until time.Time, ok bool) {
	f, err := os.Open(r.path)
	if err != nil {
		return until, false
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		word := ""
		if len(fields) == 5 {
			word = fields[4]
		}
		switch {
		case len(fields) < 4, account(fields[0]) != account(addr), fields[3] != refusalMark(fields[2], user, password), word == ipmiAlone && !atIPMI(addr):
			continue
		case word == takenSince:
			until, ok = time.Time{}, false
			continue
		}
		at, err := time.Parse(time.RFC3339, fields[1])
		if age := r.now().Sub(at); err == nil && age > -refusalWindow && age < refusalWindow {
			until, ok = at.Add(refusalWindow), true
		}
	}
	return until, ok
}

// account is where a BMC counts refused logins: Redfish and IPMI at their own ports
// are one.
func account(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port != "443" && port != "623" {
		return addr
	}
	return host
}

// Refuse implements redfish.RefusalStore.
func (r *Refusals) Refuse(addr, user, password string) error {
	alone := ""
	r.mu.Lock()
	if atIPMI(addr) && r.took[r.login(addr, user, password)] {
		alone = " " + ipmiAlone
	}
	r.mu.Unlock()
	return r.add(addr, user, password, alone)
}

// add appends a line.
func (r *Refusals) add(addr, user, password, word string) error {
	mode := os.O_APPEND | os.O_CREATE | os.O_WRONLY
	if fi, err := os.Stat(r.path); err == nil && r.now().Sub(fi.ModTime()) > refusalWindow {
		mode |= os.O_TRUNC // nothing in it counts any more
	}
	f, err := os.OpenFile(r.path, mode, 0o600)
	if err != nil {
		return fmt.Errorf("keep the refused login: %w", err)
	}
	salt := rand.Text()
	_, err = fmt.Fprintf(f, "%s %s %s %s%s\n", addr, r.now().UTC().Format(time.RFC3339), salt, refusalMark(salt, user, password), word)
	return errors.Join(err, f.Close())
}

func refusalMark(salt, user, password string) string {
	sum := sha256.Sum256([]byte(salt + "\x00" + user + "\x00" + password))
	return hex.EncodeToString(sum[:2])
}
