package shell

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Pin adds a host key as a person gives it: a fingerprint "SHA256:…", a public key
// line "ssh-ed25519 AAAA…", or a file with one.
func (c *SSHConfig) Pin(key string) error {
	if strings.HasPrefix(key, "SHA256:") {
		c.Fingerprints = append(c.Fingerprints, key)
		return nil
	}
	b := []byte(key)
	if !strings.Contains(key, " ") {
		var err error
		if b, err = os.ReadFile(key); err != nil {
			return err
		}
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(b)
	if err != nil {
		return err
	}
	c.HostKeys = append(c.HostKeys, public)
	return nil
}

// trust is how one host key is checked: the check, and the algorithms that are
// asked for. The latter matters as much: a server with several keys shows the one
// we prefer, and if that is not the one we know, a good host looks like an
// impostor.
type trust struct {
	check      ssh.HostKeyCallback
	algorithms []string
}

// trusts returns the ways to check the key of h, to be tried in order. There is
// more than one only for fingerprints, which do not tell their algorithm.
func (c SSHConfig) trusts(h hop, node bool) ([]trust, error) {
	switch {
	case node && len(c.HostKeys) > 0:
		return []trust{{check: pinned(c.HostKeys), algorithms: algorithmsOf(c.HostKeys)}}, nil
	case node && len(c.Fingerprints) > 0:
		check := fingerprinted(c.Fingerprints)
		return []trust{
			{check, []string{ssh.KeyAlgoED25519}},
			{check, []string{ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521}},
			{check, rsaAlgorithms},
		}, nil
	case len(c.CAs) > 0:
		return []trust{{check: certified(c.CAs), algorithms: certAlgorithms}}, nil
	}
	t, err := fromKnownHosts(h)
	return []trust{t}, err
}

var (
	rsaAlgorithms  = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	certAlgorithms = []string{
		ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
		ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01,
	}
)

func algorithmsOf(keys []ssh.PublicKey) []string {
	var names []string
	for _, k := range keys {
		if k.Type() == ssh.KeyAlgoRSA {
			names = append(names, rsaAlgorithms...)
			continue
		}
		names = append(names, k.Type())
	}
	return names
}

func pinned(keys []ssh.PublicKey) ssh.HostKeyCallback {
	return func(_ string, _ net.Addr, key ssh.PublicKey) error {
		for _, k := range keys {
			if bytes.Equal(k.Marshal(), key.Marshal()) {
				return nil
			}
		}
		return wrongKey(key, "pinned", keys, "The host was reinstalled, or another one has its address: compare at its console before going on.")
	}
}

func fingerprinted(prints []string) ssh.HostKeyCallback {
	return func(_ string, _ net.Addr, key ssh.PublicKey) error {
		if slices.Contains(prints, ssh.FingerprintSHA256(key)) {
			return nil
		}
		return fault("", ErrHostKey, nil, fmt.Sprintf("its %s host key is %s, expected %s", key.Type(), ssh.FingerprintSHA256(key), strings.Join(prints, " or ")),
			"The host was reinstalled, or another one has its address: compare at its console before going on.")
	}
}

func certified(cas []ssh.PublicKey) ssh.HostKeyCallback {
	checker := &ssh.CertChecker{IsHostAuthority: func(auth ssh.PublicKey, _ string) bool {
		return slices.ContainsFunc(cas, func(ca ssh.PublicKey) bool { return bytes.Equal(ca.Marshal(), auth.Marshal()) })
	}}
	return func(host string, remote net.Addr, key ssh.PublicKey) error {
		if err := checker.CheckHostKey(host, remote, key); err != nil {
			return fault("", ErrHostKey, err, "its host certificate was not accepted: "+err.Error(), "Check that it is signed by the CA given, for this host name, and not expired.")
		}
		return nil
	}
}

// fromKnownHosts checks a hop against its known_hosts files.
func fromKnownHosts(h hop) (trust, error) {
	files := slices.DeleteFunc(slices.Clone(h.knownHosts), func(f string) bool {
		_, err := os.Stat(f)
		return err != nil
	})
	check, err := knownhosts.New(files...)
	if err != nil {
		return trust{}, fmt.Errorf("known_hosts: %w", err)
	}
	name := h.addr()
	if h.keyAlias != "" {
		name = net.JoinHostPort(h.keyAlias, "22")
	}
	known := knownKeys(check, name)
	names := algorithmsOf(known)
	if authority(files, name) {
		names = append(slices.Clone(certAlgorithms), names...)
	}
	return trust{algorithms: names, check: func(_ string, remote net.Addr, key ssh.PublicKey) error {
		return explainKnownHosts(check(name, remote, key), h, key, files)
	}}, nil
}

// knownKeys asks the known_hosts callback which keys it would accept, by showing
// it one that cannot be among them.
func knownKeys(check ssh.HostKeyCallback, name string) []ssh.PublicKey {
	var unknown *knownhosts.KeyError
	err := check(name, &net.TCPAddr{IP: net.IPv4zero}, noKey{})
	if !errors.As(err, &unknown) {
		return nil
	}
	keys := make([]ssh.PublicKey, 0, len(unknown.Want))
	for _, w := range unknown.Want {
		keys = append(keys, w.Key)
	}
	return keys
}

// noKey is a public key that matches none.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return []byte("none") }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("not a key") }

// authority reports whether one of the files has a certificate authority for name.
func authority(files []string, name string) bool {
	plain := knownhosts.Normalize(name)
	for _, f := range files {
		rest, err := os.ReadFile(f)
		for err == nil {
			var (
				marker string
				hosts  []string
			)
			marker, hosts, _, _, rest, err = ssh.ParseKnownHosts(rest)
			if err == nil && marker == "cert-authority" && matches(hosts, plain) {
				return true
			}
		}
	}
	return false
}

// matches applies known_hosts patterns, of which a negated one has the last word.
func matches(patterns []string, name string) bool {
	hit := false
	for _, p := range patterns {
		p, negated := strings.CutPrefix(p, "!")
		if wildcard(p, name) {
			if negated {
				return false
			}
			hit = true
		}
	}
	return hit
}

func wildcard(pattern, s string) bool {
	for i := range len(pattern) {
		switch {
		case pattern[i] == '*':
			for j := i; j <= len(s); j++ {
				if wildcard(pattern[i+1:], s[j:]) {
					return true
				}
			}
			return false
		case i >= len(s) || pattern[i] != '?' && pattern[i] != s[i]:
			return false
		}
	}
	return len(pattern) == len(s)
}

func explainKnownHosts(err error, h hop, key ssh.PublicKey, files []string) error {
	var (
		unknown *knownhosts.KeyError
		revoked *knownhosts.RevokedError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		return fault("", ErrHostKey, err, "its host key is marked as revoked in "+revoked.Revoked.Filename, "Do not log in; give the host a new key.")
	case errors.As(err, &unknown) && len(unknown.Want) > 0:
		w := unknown.Want[0]
		return fault("", ErrHostKey, err, fmt.Sprintf("its %s host key is %s, but %s line %d knows %s", key.Type(), ssh.FingerprintSHA256(key), w.Filename, w.Line, ssh.FingerprintSHA256(w.Key)),
			"If it was reinstalled, run `ssh-keygen -R "+h.host+"` and check the new key at its console; if not, another host has its address.")
	case errors.As(err, &unknown):
		where := strings.Join(files, " or ")
		return fault("", ErrHostKey, err, fmt.Sprintf("its host key is not in %s; it is %s %s", or(where, "any known_hosts file"), key.Type(), ssh.FingerprintSHA256(key)),
			"Compare it at the host's console, then pass --host-key "+ssh.FingerprintSHA256(key)+" or log in once with ssh.")
	}
	return fault("", ErrHostKey, err, "its host key was not accepted: "+err.Error(), "Check the known_hosts files.")
}

func wrongKey(key ssh.PublicKey, word string, want []ssh.PublicKey, next string) error {
	prints := make([]string, len(want))
	for i, k := range want {
		prints[i] = k.Type() + " " + ssh.FingerprintSHA256(k)
	}
	return fault("", ErrHostKey, nil, fmt.Sprintf("its host key is %s %s, %s is %s", key.Type(), ssh.FingerprintSHA256(key), word, strings.Join(prints, " or ")), next)
}
