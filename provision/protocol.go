package provision

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/rackproof/rackproof/redfish"
)

// Protocol is how a BMC is spoken to.
type Protocol string

// The ways to speak to a BMC; "" is OverRedfish.
const (
	OverRedfish  Protocol = "redfish"
	OverIPMI     Protocol = "ipmi"     // IPMI 2.0, for BMCs without Redfish
	OverIPMITool Protocol = "ipmitool" // the same by the program ipmitool, for BMCs that our own IPMI does not get on with
)

// protocols are those that a batch may name.
var protocols = []string{string(OverRedfish), string(OverIPMI), string(OverIPMITool)}

// ParseProtocol reads one; "" is OverRedfish.
func ParseProtocol(s string) (Protocol, error) {
	if s != "" && !slices.Contains(protocols, s) {
		return "", fmt.Errorf("protocol %q: choose one of %v%s", s, protocols, didYouMean(s, protocols))
	}
	return Protocol(or(s, string(OverRedfish))), nil
}

// IPMI reports that TLS and its certificates have no part in it.
func (p Protocol) IPMI() bool { return p == OverIPMI || p == OverIPMITool }

// port is where BMCs listen.
func (p Protocol) port() int {
	if p.IPMI() {
		return 623
	}
	return 443
}

// bmcAddr is the address of the machine's BMC with its port.
func (m Machine) bmcAddr() string {
	return redfish.Config{Addr: hostPort(m.BMC, m.Login.Protocol.port()), Via: m.Via}.Key()
}

// login opens a BMC by the protocol of its machine.
func login(ctx context.Context, p Protocol, cfg redfish.Config) (BMC, error) {
	if !p.IPMI() {
		c, err := redfish.Open(ctx, cfg)
		if err != nil {
			return nil, err
		}
		TookLogin(cfg)
		return c, nil
	}
	cfg.IPMITool = p == OverIPMITool
	c, err := redfish.OpenIPMI(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// transport says what protects a session that TLS does not; "" where TLS does.
func transport(c BMC) string {
	if t, ok := c.(interface{ Transport() string }); ok {
		return t.Transport()
	}
	return ""
}

// certified reports a fingerprint that is of a certificate; over IPMI it is the UUID
// of the machine, or the BMC's MAC.
func certified(fingerprint string) bool { return !strings.Contains(fingerprint, ":") }

// printWord words a fingerprint for people.
func printWord(fingerprint string) string {
	if certified(fingerprint) {
		return fmt.Sprintf("certificate %.16s…", fingerprint)
	}
	kind, value, _ := strings.Cut(fingerprint, ":")
	return map[string]string{"guid": "UUID ", "mac": "MAC "}[kind] + value
}

func (l *loader) protocol(to *Protocol) func(ast.Node) {
	return func(n ast.Node) {
		text := ""
		l.str(&text)(n)
		p, err := ParseProtocol(text)
		if err != nil {
			l.problem(n, "%v", err)
			return
		}
		*to = p
	}
}

// noTLS reports trust in a certificate where the same lines choose IPMI, which has
// none. What stands in the defaults is for the other machines.
func (l *loader) noTLS(n ast.Node, to *BMCLogin) {
	pairs := l.pairs(n, "bmc")
	names := func(key string) bool {
		return slices.ContainsFunc(pairs, func(p *ast.MappingValueNode) bool { return keyOf(p) == key })
	}
	if !to.Protocol.IPMI() || !names("protocol") {
		return
	}
	for _, p := range pairs {
		if keyOf(p) == "tls" {
			l.problem(p.Key, "tls says how a certificate is trusted, and %s has none: leave it out", to.Protocol)
		}
	}
}
