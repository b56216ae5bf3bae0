package netboot

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Ticket is one boot of one machine.
type Ticket struct {
	Token          string    `json:"token"`
	Machine        string    `json:"machine"`
	Attempt        int       `json:"attempt"`
	Image          string    `json:"image"`
	HostKey        string    `json:"host_key"`        // private, OpenSSH PEM; made for this boot alone
	HostKeyPublic  string    `json:"host_key_public"` // one line, as in known_hosts
	AuthorizedKeys string    `json:"authorized_keys"`
	Fetched        time.Time `json:"fetched,omitzero"`    // the boot script was fetched first
	Seeded         time.Time `json:"seeded,omitzero"`     // the seed was fetched first
	Last           time.Time `json:"last,omitzero"`       // either was fetched last, to lastGrain
	Base           string    `json:"base,omitempty"`      // of URLs for the host, where it boots an image that its BMC fetched
	MediaRead      time.Time `json:"media_read,omitzero"` // that image was read first, by the BMC
	MAC            string    `json:"mac,omitempty"`       // by which a machine that boots by PXE is known, lower case
	UUIDs          []string  `json:"uuids,omitempty"`     // likewise
	Up             *Up       `json:"up,omitempty"`        // what the booted host said
}

// Up is what a booted host says of itself.
type Up struct {
	UUID    string    `json:"uuid"`
	Serial  string    `json:"serial"`
	Address string    `json:"address"` // where its SSH answers; "" = as the batch says
	At      time.Time `json:"at,omitzero"`
}

// seed is what the booted host fetches.
type seed struct {
	Token          string `json:"token"`
	HostKey        string `json:"host_key"`
	AuthorizedKeys string `json:"authorized_keys"`
}

func newTicket(machine string, attempt int, image, authorized string) (*Ticket, error) {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // never fails: crypto/rand
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a host key for %s: %w", machine, err)
	}
	block, err := ssh.MarshalPrivateKey(priv, "rackproof "+machine)
	if err != nil {
		return nil, fmt.Errorf("make a host key for %s: %w", machine, err)
	}
	sshPub, err := ssh.NewPublicKey(pub)
	if err != nil {
		return nil, fmt.Errorf("make a host key for %s: %w", machine, err)
	}
	return &Ticket{
		Token: hex.EncodeToString(raw), Machine: machine, Attempt: attempt, Image: image,
		HostKey:        string(pem.EncodeToMemory(block)),
		HostKeyPublic:  strings.TrimSpace(string(ssh.MarshalAuthorizedKey(sshPub))),
		AuthorizedKeys: authorized,
	}, nil
}

// Signer reads a private key in PEM.
func Signer(privatePEM []byte) (ssh.Signer, error) {
	signer, err := ssh.ParsePrivateKey(privatePEM)
	if err != nil {
		return nil, fmt.Errorf("SSH key: %w", err)
	}
	return signer, nil
}

// PublicKey returns the authorized_keys line of a private key in PEM.
func PublicKey(privatePEM []byte) (string, error) {
	signer, err := Signer(privatePEM)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))), nil
}

// HostKey reads Ticket.HostKeyPublic.
func HostKey(line string) (ssh.PublicKey, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return nil, fmt.Errorf("host key of the boot: %w", err)
	}
	return key, nil
}
