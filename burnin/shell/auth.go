package shell

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// defaultKeys are the files that ssh tries when nothing names one.
var defaultKeys = []string{"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"}

// identity is the keys that are offered to one hop, with a name of each for
// messages, and the connection to the agent that must stay open meanwhile.
type identity struct {
	signers []ssh.Signer
	names   []string
	agent   net.Conn
}

func (id *identity) add(name string, s ...ssh.Signer) {
	id.signers = append(id.signers, s...)
	id.names = append(id.names, name)
}

func (id *identity) close() {
	if id.agent != nil {
		_ = id.agent.Close()
	}
}

// identify gathers the keys for h: those given, key files, then the agent. A
// server stops after a handful, so the ones meant for it come first.
func (c SSHConfig) identify(h hop, node bool) (*identity, error) {
	id := &identity{}
	if node {
		for _, s := range c.Signers {
			id.add(s.PublicKey().Type()+" key given", s)
		}
	}
	named := h.keyFiles
	for _, f := range named {
		if err := id.addFile(f); err != nil {
			return nil, err
		}
	}
	if c.NoAgent || h.identitiesOnly || node && len(c.Signers) > 0 {
		return id, nil
	}
	if err := id.addAgent(); err != nil && len(named) == 0 {
		return nil, err
	}
	if len(named) > 0 {
		return id, nil
	}
	for _, f := range defaultKeys {
		// Keys that nobody named are a convenience: one that cannot be used is
		// passed over.
		_ = id.addFile(expand(f, h))
	}
	return id, nil
}

func (id *identity) addFile(name string) error {
	pem, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("SSH key: %w", err)
	}
	signer, err := ssh.ParsePrivateKey(pem)
	if _, locked := errors.AsType[*ssh.PassphraseMissingError](err); locked {
		return fmt.Errorf("SSH key %s has a passphrase: load it with `ssh-add %s` and leave --key out", name, name)
	}
	if err != nil {
		return fmt.Errorf("SSH key %s: %w", name, err)
	}
	if cert := certificateOf(name, signer); cert != nil {
		id.add(filepath.Base(name)+"-cert.pub", cert)
	}
	id.add(filepath.Base(name), signer)
	return nil
}

// certificateOf returns the certificate beside a key file, or nil.
func certificateOf(name string, signer ssh.Signer) ssh.Signer {
	b, err := os.ReadFile(name + "-cert.pub")
	if err != nil {
		return nil
	}
	pub, _, _, _, err := ssh.ParseAuthorizedKey(b)
	if err != nil {
		return nil
	}
	cert, ok := pub.(*ssh.Certificate)
	if !ok {
		return nil
	}
	s, err := ssh.NewCertSigner(cert, signer)
	if err != nil {
		return nil
	}
	return s
}

func (id *identity) addAgent() error {
	socket := os.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil
	}
	conn, err := net.Dial("unix", socket) //nolint:noctx // a local socket: answers or fails at once
	if err != nil {
		return nil //nolint:nilerr // an agent that is gone is as good as none; a refused login names the keys tried
	}
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		_ = conn.Close()
		return fmt.Errorf("SSH agent: %w", err)
	}
	id.agent = conn
	for _, s := range signers {
		id.add(s.PublicKey().Type()+" key of the agent", s)
	}
	return nil
}
