package shell

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kevinburke/ssh_config"
	"golang.org/x/crypto/ssh"
)

// SSHConfig says how to reach a node. Only Addr is needed: what is left open comes
// from the user's ~/.ssh/config, agent and known_hosts, as with ssh itself.
type SSHConfig struct {
	Addr string // [user@]host[:port], or a Host alias of ~/.ssh/config
	User string // over the user in Addr
	Port int    // over the port in Addr; 0 = ssh config, then 22

	Signers  []ssh.Signer // offered first
	KeyFiles []string     // private keys; a <file>-cert.pub beside one is offered too
	NoAgent  bool         // do not ask SSH_AUTH_SOCK

	// What the host key is checked against, in this order; the first that is set
	// is the only one used. With none, the user's known_hosts.
	HostKeys     []ssh.PublicKey
	Fingerprints []string        // "SHA256:…"
	CAs          []ssh.PublicKey // host certificates signed by one of these
	KnownHosts   []string        // files

	Jump       []string // [user@]host[:port] on the way, outermost first; over ProxyJump
	ConfigFile string   // "" = ~/.ssh/config, "none" = no file

	// Dial opens the TCP connection of the first hop; nil = net.Dialer.
	Dial      func(ctx context.Context, network, addr string) (net.Conn, error)
	Timeout   time.Duration // of connecting and of the whole handshake, per hop; 0 = 20 s
	Keepalive time.Duration // between two questions whether the peer lives; three unanswered end the connection; 0 = 5 s
	Log       *slog.Logger
}

// hop is one SSH connection on the way, fully resolved.
type hop struct {
	alias, host, user string // alias: as the person wrote it
	port              int
	keyFiles          []string
	knownHosts        []string
	keyAlias          string // HostKeyAlias
	identitiesOnly    bool
}

func (h hop) addr() string { return net.JoinHostPort(h.host, strconv.Itoa(h.port)) }

// String names the hop in messages.
func (h hop) String() string {
	if h.port == 22 {
		return h.user + "@" + h.host
	}
	return h.user + "@" + h.addr()
}

// resolve returns the hops to the node, the node last.
func (c SSHConfig) resolve() ([]hop, error) {
	file, err := c.openConfig()
	if err != nil {
		return nil, err
	}
	target, err := c.hop(file, c.Addr, true)
	if err != nil {
		return nil, err
	}
	jumps := c.Jump
	if len(jumps) == 0 {
		if via := option(file, target.alias, "ProxyJump"); via != "" && !strings.EqualFold(via, "none") {
			jumps = strings.Split(via, ",")
		}
	}
	hops := make([]hop, 0, len(jumps)+1)
	for _, j := range jumps {
		h, err := c.hop(file, strings.TrimPrefix(strings.TrimSpace(j), "ssh://"), false)
		if err != nil {
			return nil, fmt.Errorf("jump host: %w", err)
		}
		hops = append(hops, h)
	}
	return append(hops, target), nil
}

func (c SSHConfig) openConfig() (*ssh_config.Config, error) {
	name := c.ConfigFile
	switch name {
	case "none":
		return nil, nil
	case "":
		name = expand("~/.ssh/config", hop{})
	}
	f, err := os.Open(name)
	if os.IsNotExist(err) && c.ConfigFile == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ssh config: %w", err)
	}
	defer func() { _ = f.Close() }()
	file, err := ssh_config.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("ssh config %s: %w; name the user, port and key yourself and pass an ssh config of \"none\"", name, err)
	}
	return file, nil
}

// hop resolves one address against the ssh config. Only the node takes the
// overrides of c; a jump host has its own.
func (c SSHConfig) hop(file *ssh_config.Config, addr string, node bool) (hop, error) {
	h := hop{}
	name, port, err := splitAddr(addr)
	if err != nil {
		return h, err
	}
	if i := strings.LastIndexByte(name, '@'); i >= 0 {
		h.user, name = name[:i], name[i+1:]
	}
	h.alias, h.host, h.port = name, name, port
	if host := option(file, name, "HostName"); host != "" {
		h.host = strings.ReplaceAll(host, "%h", name)
	}
	if node && c.User != "" {
		h.user = c.User
	}
	if node && c.Port != 0 {
		h.port = c.Port
	}
	if h.user == "" {
		h.user = option(file, name, "User")
	}
	if h.user == "" {
		h.user = currentUser()
	}
	if h.port == 0 {
		if h.port, err = strconv.Atoi(or(option(file, name, "Port"), "22")); err != nil {
			return h, fmt.Errorf("ssh config of %s: port: %w", name, err)
		}
	}
	c.files(file, &h, node)
	return h, nil
}

// files fills in the keys that are offered to a hop and the files that know its
// own key.
func (c SSHConfig) files(file *ssh_config.Config, h *hop, node bool) {
	h.keyAlias = option(file, h.alias, "HostKeyAlias")
	h.identitiesOnly = strings.EqualFold(option(file, h.alias, "IdentitiesOnly"), "yes")
	if node && len(c.KeyFiles) > 0 {
		h.keyFiles = c.KeyFiles
	} else {
		h.keyFiles = options(file, h.alias, "IdentityFile")
	}
	for i, k := range h.keyFiles {
		h.keyFiles[i] = expand(k, *h)
	}
	h.knownHosts = c.KnownHosts
	if len(h.knownHosts) == 0 {
		h.knownHosts = strings.Fields(or(option(file, h.alias, "UserKnownHostsFile"), "~/.ssh/known_hosts /etc/ssh/ssh_known_hosts"))
	}
	known := make([]string, len(h.knownHosts))
	for i, k := range h.knownHosts {
		known[i] = expand(k, *h)
	}
	h.knownHosts = known
}

func splitAddr(addr string) (name string, port int, err error) {
	if addr == "" {
		return "", 0, fmt.Errorf("no host given: want [user@]host[:port]")
	}
	host, digits, err := net.SplitHostPort(addr)
	if err != nil {
		return strings.Trim(addr, "[]"), 0, nil // no port, or a bare IPv6 address
	}
	user := ""
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		user, host = host[:i+1], host[i+1:]
	}
	port, err = strconv.Atoi(digits)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("%s: port %q is not a number from 1 to 65535", addr, digits)
	}
	return user + host, port, nil
}

func option(file *ssh_config.Config, alias, key string) string {
	if file == nil {
		return ""
	}
	v, err := file.Get(alias, key)
	if err != nil {
		return ""
	}
	return v
}

func options(file *ssh_config.Config, alias, key string) []string {
	if file == nil {
		return nil
	}
	v, err := file.GetAll(alias, key)
	if err != nil {
		return nil
	}
	return v
}

// expand resolves ~ and the tokens that ssh_config allows in file names.
func expand(name string, h hop) string {
	home, _ := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(home, rest)
	}
	return strings.NewReplacer("%%", "%", "%d", home, "%h", h.host, "%r", h.user, "%u", currentUser(), "%n", h.alias).Replace(name)
}

func currentUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "root"
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
