package provision

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/rackproof/rackproof/redfish"
)

// Characters of a new password: none that people confuse on a tag (0 and O, 1, I and
// l), none that a shell or a URL takes for something else.
var passwordLetters = []string{"abcdefghijkmnpqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ", "23456789", "-_.+="}

// Lengths of a new password, in bytes. IPMI 1.5 carries 16 and IPMI 2.0 carries 20; a
// longer one would be cut there, and IPMI be lost.
const (
	passwordLength = 16
	ipmiPassword   = 20
)

// NewPassword makes a password that a BMC takes over both protocols, of 16 characters
// where its rules allow.
func NewPassword(rules redfish.PasswordRules) (string, error) {
	n := max(passwordLength, rules.Min)
	if rules.Max > 0 {
		n = min(n, rules.Max)
	}
	if err := checkPasswordLength(n, rules); err != nil {
		return "", err
	}
	for { // until every class is in it, as some BMCs want
		if password := randomWord(n, strings.Join(passwordLetters, "")); everyClass(password) {
			return password, nil
		}
	}
}

// randomWord draws n letters, each as likely as the others.
func randomWord(n int, letters string) string {
	fair := 256 - 256%len(letters) // bytes above it would favour the first letters
	word := make([]byte, 0, n)
	draw := make([]byte, 1)
	for len(word) < n {
		_, _ = rand.Read(draw) // never fails (crypto/rand since Go 1.24)
		if int(draw[0]) < fair {
			word = append(word, letters[int(draw[0])%len(letters)])
		}
	}
	return string(word)
}

func everyClass(password string) bool {
	for _, letters := range passwordLetters {
		if !strings.ContainsAny(password, letters) {
			return false
		}
	}
	return true
}

// leastPassword is the shortest that is made: below it no four classes are worth much.
const leastPassword = 8

// checkPasswordLength refuses a length before anything is written or set.
func checkPasswordLength(n int, rules redfish.PasswordRules) error {
	switch {
	case n < rules.Min || rules.Max > 0 && n > rules.Max:
		return fmt.Errorf("a password of %d characters: the BMC wants %d to %d", n, rules.Min, rules.Max)
	case n < leastPassword:
		return fmt.Errorf("the BMC takes passwords of at most %d characters; that is none to set", n)
	case rules.IPMI && n > ipmiPassword:
		return fmt.Errorf("a password of %d bytes: IPMI is on at this BMC and carries %d; its login would be lost. Switch IPMI over LAN off first, or set a shorter one", n, ipmiPassword)
	}
	return nil
}
