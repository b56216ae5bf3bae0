package redfish

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// ipmiTool carries commands by the program ipmitool, each as "raw" in a session of its
// own. It is for BMCs that do not get on with our session, and slow. bmclib (v2.3.5)
// has a driver for ipmitool, which is not used: it puts the password into the
// environment of the program, tries cipher suite 3 and then 17 also when the first
// try showed the password to be wrong, and takes a state that it could not read for
// "off". Here the password goes through a pipe that only this process and ipmitool
// have, and is in no argument, environment or file.
type ipmiTool struct {
	cfg   Config
	path  string
	suite string // cipher suite that was taken
	level string
}

// toolWait bounds one command: ipmitool gives up after 20 s by itself.
const toolWait = 30 * time.Second

// openIPMITool finds the program, and the cipher suite and privilege that the BMC
// takes. Only refusals that come before the password is looked at are followed by
// another try.
func openIPMITool(ctx context.Context, cfg Config) (ipmiLink, error) {
	path, err := exec.LookPath("ipmitool")
	if runtime.GOOS == "windows" { // no pipe but the three standard ones
		err = exec.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("BMC %s: %w: ipmitool is not installed here (Debian package ipmitool)", cfg.Addr, ErrUnsupported)
	}
	t := &ipmiTool{cfg: cfg, path: path}
	for _, t.suite = range []string{"17", "3"} {
		for _, t.level = range []string{"ADMINISTRATOR", "OPERATOR"} {
			_, err = t.send(ctx, ipmiCommand{name: "Get Device ID", netFn: netFnApp, cmd: cmdDeviceID})
			if err == nil {
				return t, nil
			}
			if errors.Is(err, errIPMISuite) {
				break
			}
			if !errors.Is(err, errIPMIPrivilege) {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("BMC %s: %w: ipmitool comes in neither with cipher suite 17 nor 3 (%w); enable one of them, and privilege operator for user %q", cfg.Addr, ErrUnsupported, err, cfg.User)
}

// send implements ipmiLink.
func (t *ipmiTool) send(ctx context.Context, c ipmiCommand) ([]byte, error) {
	deadline, cancel := context.WithTimeout(ctx, min(t.cfg.Timeout, toolWait))
	defer cancel()
	secret, feed, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe to ipmitool: %w", err)
	}
	_, werr := feed.WriteString(t.cfg.Password + "\n") // fits into the pipe, so nobody has to read yet
	if err := errors.Join(werr, feed.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("pipe to ipmitool: %w", err), secret.Close())
	}
	cmd := exec.CommandContext(deadline, t.path, t.args(c)...)
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	cmd.ExtraFiles = []*os.File{secret}
	cmd.WaitDelay = time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = errors.Join(cmd.Run(), secret.Close())
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("BMC %s: %s: %w", t.cfg.Addr, c.name, context.Cause(ctx))
	case err != nil:
		return nil, t.failure(c, said.String())
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(out.String()), ""))
	if err != nil {
		return nil, fmt.Errorf("BMC %s: %s: ipmitool printed no bytes: %w", t.cfg.Addr, c.name, err)
	}
	return b, nil
}

func (t *ipmiTool) args(c ipmiCommand) []string {
	host, port, _ := net.SplitHostPort(t.cfg.Addr)
	const passwordPipe = "/dev/fd/3" // the first of ExtraFiles
	args := []string{
		"-v", "-I", "lanplus", "-H", host, "-p", port, "-U", t.cfg.User, "-f", passwordPipe,
		"-C", t.suite, "-L", t.level, "-l", strconv.Itoa(int(c.lun)), "-N", "5",
	}
	if c.once {
		args = append(args, "-R", "1")
	}
	args = append(args, "raw")
	for _, b := range append([]byte{c.netFn, c.cmd}, c.data...) {
		args = append(args, fmt.Sprintf("0x%02x", b))
	}
	return args
}

var toolCode = regexp.MustCompile(`rsp=0x([0-9a-f]{2})\)`)

// failure reads what ipmitool says of its trouble (1.8.19, -v).
func (t *ipmiTool) failure(c ipmiCommand, said string) error {
	said = newRecorder(t.cfg.Password).literal(strings.TrimSpace(said))
	if m := toolCode.FindStringSubmatch(said); m != nil {
		code, _ := strconv.ParseUint(m[1], 16, 8)
		return fmt.Errorf("BMC %s: %w", t.cfg.Addr, &ipmiError{command: c.name, code: uint8(code)})
	}
	last := said[strings.LastIndexByte(said, '\n')+1:]
	low := strings.ToLower(said)
	for _, known := range []struct {
		word string
		is   error
	}{
		{"hmac is invalid", errIPMILogin},
		{"unauthorized name", errIPMILogin},
		{"invalid authentication algorithm", errIPMISuite},
		{"invalid integrity algorithm", errIPMISuite},
		{"no matching", errIPMISuite},
		{"no cipher suite match", errIPMISuite},
		{"unauthorized role", errIPMIPrivilege},
		{"invalid role", errIPMIPrivilege},
		{"privilege level", errIPMIPrivilege},
	} {
		if strings.Contains(low, known.word) {
			return fmt.Errorf("%w: %s", known.is, last)
		}
	}
	if strings.Contains(low, "insufficient resources") {
		return fmt.Errorf("BMC %s: %w: close sessions, or wait a minute", t.cfg.Addr, ErrSessionLimit)
	}
	return &lostError{silent: true, error: fmt.Errorf("%w: BMC %s by ipmitool: %s", ErrUnreachable, t.cfg.Addr, firstOf(last, "no answer"))}
}

// close has nothing to end: every command was a session of its own.
func (t *ipmiTool) close() error { return nil }
