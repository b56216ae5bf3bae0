package redfish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	sshHandshake = 20 * time.Second // until the shell is there, or the time of a request where that is less
	sshPrompt    = 5 * time.Second  // for the BMC's shell to show itself
	sshShort     = 10 * time.Second // a console that ends sooner is not given, and is not asked for again
	sshReopen    = 20               // times, then the BMC is left alone
)

// errConsoleRefused says that a console ended as soon as it began.
var errConsoleRefused = errors.New("the console ended at once: another session may have it")

// sshConsole keeps the console open until ctx ends.
func (c *Client) sshConsole(ctx context.Context, way consoleProtocol, out io.Writer) error {
	for n := 0; ; n++ {
		began := time.Now()
		err := c.sshOnce(ctx, way, out)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case time.Since(began) < sshShort:
			return fmt.Errorf("BMC %s: console over SSH: %w: %w", c.cfg.Addr, ErrSessionLimit, errConsoleRefused)
		case n >= sshReopen:
			return fmt.Errorf("BMC %s: %w: it ended its console %d times", c.cfg.Addr, ErrUnreachable, n)
		}
		c.cfg.Log.InfoContext(ctx, "console opened anew", "bmc", c.cfg.Addr)
		if pause(ctx, c.cfg.Poll) != nil {
			return nil
		}
	}
}

// sshOnce is one session; nil where the BMC ended it.
func (c *Client) sshOnce(ctx context.Context, way consoleProtocol, out io.Writer) error {
	patience := min(c.cfg.Timeout, sshHandshake)
	deadline := time.Now().Add(patience)
	client, conn, err := c.sshDial(ctx, net.JoinHostPort(c.bareAddr(), way.port(22)), deadline)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	defer context.AfterFunc(ctx, func() { _ = client.Close() })() // ends what hangs
	heard := &firstWord{to: out, said: make(chan struct{})}
	session, in, err := c.sshShell(client, heard)
	switch {
	case err != nil && time.Now().After(deadline) && ctx.Err() == nil: // the connection's deadline shows as its end
		return fmt.Errorf("BMC %s: console over SSH: %w: logged in, and it gives no shell within %s (%w)", c.cfg.Addr, ErrUnreachable, patience, err)
	case err != nil:
		return err
	}
	defer func() { _ = session.Close() }()
	_ = conn.SetDeadline(time.Time{}) // keepSSH watches from here
	if way.Command != "" && (!way.Shared.ok || way.Shared.value) {
		if err := c.enter(ctx, heard, in, string(way.Command)); err != nil {
			return err
		}
	}
	go c.keepSSH(ctx, client)
	err = session.Wait()
	if exit := (*ssh.ExitError)(nil); errors.As(err, &exit) || errors.As(err, new(*ssh.ExitMissingError)) {
		err = nil
	}
	if heard.failed() != nil {
		return fmt.Errorf("keep the console: %w", heard.failed())
	}
	if err != nil && ctx.Err() == nil {
		c.cfg.Log.InfoContext(ctx, "console over SSH ended", "bmc", c.cfg.Addr, "err", err)
	}
	return nil
}

// sshShell opens the BMC's shell.
func (c *Client) sshShell(client *ssh.Client, heard io.Writer) (*ssh.Session, io.Writer, error) {
	session, err := client.NewSession()
	if err != nil {
		return nil, nil, fmt.Errorf("BMC %s: console over SSH: %w: %w", c.cfg.Addr, ErrSessionLimit, err)
	}
	session.Stdout, session.Stderr = heard, io.Discard
	in, err := session.StdinPipe()
	if err = errors.Join(err, session.RequestPty("vt100", 50, 160, ssh.TerminalModes{ssh.ECHO: 0}), session.Shell()); err != nil {
		_ = session.Close()
		return nil, nil, fmt.Errorf("BMC %s: console over SSH: %w: it gives no shell (%w)", c.cfg.Addr, ErrUnsupported, err)
	}
	return session, in, nil
}

// enter waits for the BMC's prompt and sends the command that leads to the console.
func (c *Client) enter(ctx context.Context, heard *firstWord, in io.Writer, command string) error {
	timer := time.NewTimer(sshPrompt)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-heard.said:
	case <-timer.C:
	}
	if _, err := io.WriteString(in, command+"\r"); err != nil {
		return fmt.Errorf("BMC %s: console over SSH: %w: %w", c.cfg.Addr, ErrUnreachable, err)
	}
	return nil
}

// keepSSH asks for an answer now and then, so that a dead connection shows.
func (c *Client) keepSSH(ctx context.Context, client *ssh.Client) {
	for pause(ctx, consoleAlive) == nil {
		answered := make(chan error, 1)
		go func() {
			_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
			answered <- err
		}()
		timer := time.NewTimer(consoleAlive)
		select {
		case err := <-answered:
			if err != nil {
				timer.Stop()
				return // it is closed
			}
		case <-timer.C:
			_ = client.Close()
			return
		}
		timer.Stop()
	}
}

// firstWord passes on what comes, and tells of the first.
type firstWord struct {
	to   io.Writer
	once sync.Once
	said chan struct{}

	mu  sync.Mutex
	err error
}

func (f *firstWord) Write(b []byte) (int, error) {
	f.once.Do(func() { close(f.said) })
	n, err := f.to.Write(b)
	if err != nil {
		f.mu.Lock()
		f.err = err
		f.mu.Unlock()
	}
	return n, err
}

func (f *firstWord) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// sshDial logs in, and leaves the deadline on the connection. The password is sent once, and not at
// all where SSH refused it a moment ago: Redfish took it, so its logins go on.
func (c *Client) sshDial(ctx context.Context, addr string, deadline time.Time) (*ssh.Client, net.Conn, error) {
	login := &sshLogin{c: c, addr: addr}
	if c.cfg.Refusals != nil {
		if until, ok := c.cfg.Refusals.Refused(login.key(""), c.cfg.User, c.t.session.secret()); ok {
			return nil, nil, fmt.Errorf("BMC %s: %w with this password a moment ago; it is not asked again before %s", c.cfg.Addr, ErrAuth, until.Local().Format("15:04:05"))
		}
	}
	conn, err := c.cfg.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, c.t.broken(ctx, call{method: "SSH", uri: addr}, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_ = conn.SetDeadline(deadline) // the client's Timeout is of the dial alone
	sc, channels, requests, err := ssh.NewClientConn(conn, addr, login.config())
	if err != nil {
		_ = conn.Close()
		return nil, nil, login.failed(ctx, err)
	}
	return ssh.NewClient(sc, channels, requests), conn, nil
}

// sshLogin is one login over SSH.
type sshLogin struct {
	c       *Client
	addr    string
	sent    bool  // the password
	again   bool  // it was asked for once more: the first was refused
	mistake error // of the host key
}

func (l *sshLogin) config() *ssh.ClientConfig {
	conf := &ssh.ClientConfig{
		User: l.c.cfg.User,
		Auth: []ssh.AuthMethod{
			ssh.PasswordCallback(l.password),
			ssh.KeyboardInteractive(func(_, _ string, questions []string, echos []bool) ([]string, error) {
				if len(questions) == 0 {
					return nil, nil
				}
				if len(questions) != 1 || echos[0] {
					return nil, errors.New("it asks for more than the password")
				}
				password, err := l.password()
				return []string{password}, err
			}),
		},
		HostKeyCallback:   l.hostKey,
		HostKeyAlgorithms: l.algorithms(),
		ClientVersion:     "SSH-2.0-rackproof",
	}
	if l.c.cfg.TLS.Legacy {
		old := ssh.InsecureAlgorithms()
		all := ssh.SupportedAlgorithms()
		conf.KeyExchanges, conf.Ciphers, conf.MACs = append(all.KeyExchanges, old.KeyExchanges...), append(all.Ciphers, old.Ciphers...), append(all.MACs, old.MACs...)
	}
	return conf
}

// password is given out once: a second try counts for a lockout.
func (l *sshLogin) password() (string, error) {
	if l.sent {
		l.again = true
		return "", errors.New("the password was refused")
	}
	l.sent = true
	return l.c.t.session.secret(), nil
}

// hostKeyTypes are the kinds of host key that are asked for, in this order, and by which
// signatures each shows itself.
var hostKeyTypes = []struct {
	kind       string
	algorithms []string
}{
	{ssh.KeyAlgoED25519, []string{ssh.KeyAlgoED25519}},
	{ssh.KeyAlgoECDSA256, []string{ssh.KeyAlgoECDSA256}},
	{ssh.KeyAlgoECDSA384, []string{ssh.KeyAlgoECDSA384}},
	{ssh.KeyAlgoECDSA521, []string{ssh.KeyAlgoECDSA521}},
	{ssh.KeyAlgoRSA, []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}},
}

// algorithms asks for the key that is pinned, where one is: a BMC that shows another
// kind of key than last time is not another BMC.
func (l *sshLogin) algorithms() []string {
	var pinned, all []string
	for _, t := range hostKeyTypes {
		algorithms := slices.Clone(t.algorithms)
		if t.kind == ssh.KeyAlgoRSA && l.c.cfg.TLS.Legacy {
			algorithms = append(algorithms, ssh.KeyAlgoRSA)
		}
		if _, ok := l.pin(t.kind); ok {
			pinned = append(pinned, algorithms...)
		}
		all = append(all, algorithms...)
	}
	if len(pinned) > 0 {
		return pinned
	}
	return all
}

// key names the way in stores: kind is "" for refused logins, else that of a host key
// among the pins.
func (l *sshLogin) key(kind string) string {
	if kind != "" {
		kind += "/"
	}
	return "ssh/" + kind + Config{Addr: l.addr, Via: l.c.cfg.Via}.Key()
}

// pins are those of the client's life where no others are kept.
func (l *sshLogin) pins() PinStore {
	if l.c.cfg.TLS.Pins == nil {
		return &l.c.hostKeys
	}
	return l.c.cfg.TLS.Pins
}

func (l *sshLogin) pin(kind string) (string, bool) {
	if l.c.cfg.TLS.Mode == Insecure {
		return "", false
	}
	return l.pins().Pin(l.key(kind))
}

// hostKey trusts on first use and refuses a change, before the password is sent. SSH
// knows no authority, so a BMC whose certificate is checked by one is pinned here too.
func (l *sshLogin) hostKey(_ string, _ net.Addr, key ssh.PublicKey) error {
	sum := sha256.Sum256(key.Marshal())
	got := hex.EncodeToString(sum[:])
	want, ok := l.pin(key.Type())
	switch {
	case l.c.cfg.TLS.Mode == Insecure:
		return nil
	case !ok:
		if err := l.pins().SetPin(l.key(key.Type()), got); err != nil {
			l.mistake = fmt.Errorf("keep the SSH host key of %s: %w", l.addr, err)
		}
	case want != got:
		l.mistake = fmt.Errorf("%w: SSH at %s shows host key %s…, pinned is %s…; no password was sent. If its firmware made a new one, `rackproof bmc %s forget-pin`",
			ErrPinMismatch, l.addr, short(got), short(want), l.c.cfg.Addr)
	}
	return l.mistake
}

// failed words why nobody was let in.
func (l *sshLogin) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case l.mistake != nil:
		return l.mistake
	case l.again, l.sent && strings.Contains(err.Error(), "unable to authenticate"):
		if l.c.cfg.Refusals != nil {
			if err := l.c.cfg.Refusals.Refuse(l.key(""), l.c.cfg.User, l.c.t.session.secret()); err != nil {
				l.c.cfg.Log.Warn("a refused login is not remembered", "bmc", l.c.cfg.Addr, "err", err)
			}
		}
		return fmt.Errorf("BMC %s: %w over SSH for user %q (one try): its password is right for Redfish, so the account may have no right to SSH", l.c.cfg.Addr, ErrAuth, l.c.cfg.User)
	case strings.Contains(err.Error(), "no common algorithm"):
		return fmt.Errorf("BMC %s: %w: SSH at %s knows only outdated algorithms (%w); --tls-legacy allows them for this BMC alone", l.c.cfg.Addr, ErrUnsupported, l.addr, err)
	}
	return fmt.Errorf("%w: SSH at %s: %s", ErrUnreachable, l.addr, l.c.t.record.literal(err.Error()))
}

// secret is the password of the logins to come.
func (s *session) secret() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.password
}
