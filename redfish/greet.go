package redfish

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Greeting is what a BMC tells everybody, before a login: its certificate and its
// service root. What it does not tell is "". None of it is proven: a name is as the
// factory or a person set it.
type Greeting struct {
	Redfish  string   `json:"redfish"`   // version of the service; "" where Closed
	Closed   bool     `json:"closed"`    // it wants a login even for its service root
	Vendor   string   `json:"vendor"`    // who built the machine, as Client.Vendor
	Software string   `json:"software"`  // whose the BMC's software is, where that is another: "ami", "openbmc"
	Model    string   `json:"model"`     // of the machine
	Serial   string   `json:"serial"`    // service tag or system serial
	MAC      string   `json:"mac"`       // of the BMC
	HostName string   `json:"host_name"` // of the BMC
	Firmware string   `json:"firmware"`  // of the BMC
	SHA256   string   `json:"sha256"`    // of the certificate, lower-case hex
	Names    []string `json:"names"`     // in the certificate
	Legacy   bool     `json:"legacy"`    // it speaks outdated TLS alone
}

// greetTimeout is how long a BMC has for its service root.
const greetTimeout = 15 * time.Second

// Greet asks a BMC who it is and logs in nowhere: one connection and one GET of the
// service root, without a credential and whatever the certificate, which the answer
// names. User, password, pins and TLS mode of cfg are not looked at. A BMC with
// outdated TLS alone is asked once more that way. The error wraps ErrNoRedfish where
// something else answers, and ErrUnreachable where nothing does.
func Greet(ctx context.Context, cfg Config) (Greeting, error) {
	cfg.User, cfg.Password, cfg.TLS = "", "", TLS{Mode: Insecure}
	cfg.Timeout = cmp.Or(cfg.Timeout, greetTimeout)
	g, err := greet(ctx, cfg)
	if err != nil && oldTLS(err.Error()) {
		cfg.TLS.Legacy = true
		g, err = greet(ctx, cfg)
		g.Legacy = err == nil
	}
	return g, err
}

func greet(ctx context.Context, cfg Config) (Greeting, error) {
	c, err := newClient(cfg.withDefaults())
	if err != nil {
		return Greeting{}, err
	}
	defer c.t.reads.CloseIdleConnections()
	ask := call{method: http.MethodGet, uri: serviceRoot}
	a, err := c.t.once(ctx, ask) // not signed: that would log in where the root is closed
	g := Greeting{SHA256: c.trust.fingerprint(), Names: c.trust.names()}
	if err != nil {
		return g, err
	}
	failure := c.t.failure(ask, a)
	closed := a.status == http.StatusUnauthorized || a.status == http.StatusForbidden
	switch {
	case closed && speaksRedfish(a):
		g.Closed = true
		return g, nil
	case failure != nil && a.status >= http.StatusInternalServerError:
		return g, failure
	case failure != nil || json.Unmarshal(a.body, &c.root) != nil || c.root.Version == "" && c.root.Systems == "" && c.root.Links.value.Sessions == "":
		return g, fmt.Errorf("%s: %w at %s (status %d)", cfg.Addr, ErrNoRedfish, serviceRoot, a.status)
	}
	g.read(c.root)
	return g, nil
}

// speaksRedfish tells a refusal by a Redfish service from that of any web server.
func speaksRedfish(a *answer) bool {
	return a.header.Get("OData-Version") != "" || len(messages(a.body)) > 0
}

// read takes what the service root tells.
func (g *Greeting) read(root rootDoc) {
	g.Redfish = string(root.Version)
	s := signals{rootVendor: string(root.Vendor), product: string(root.Product), rootOEM: keysThat(root.Oem.value, anyKey)}
	vendor := s.weigh()
	g.Software = s.firmware()
	if vendor != "ami" && vendor != "openbmc" { // they write the software of many makers' BMCs
		g.Vendor = vendor
	}
	does := s.behaviour(vendor)
	does.tells(root, g)
	for _, name := range append([]string{g.HostName}, g.Names...) {
		g.Serial = firstOf(g.Serial, does.named(name))
	}
}

// FactoryName reads a host name, from a lease or a certificate, in the form that a
// maker gives it: whose machine, and the serial or tag in it. Both are "" for any
// other name.
func FactoryName(host string) (vendor, serial string) {
	for _, m := range makers {
		if serial := (signals{}).behaviour(m.name).named(host); serial != "" {
			return m.name, serial
		}
	}
	return "", ""
}

// factoryName gives the serial in a host name of a form, without its domain.
func factoryName(form *regexp.Regexp, host string) string {
	host, _, _ = strings.Cut(strings.ToUpper(strings.TrimSpace(host)), ".")
	if m := form.FindStringSubmatch(host); m != nil {
		return m[1]
	}
	return ""
}

func (base) tells(rootDoc, *Greeting) {}

func (base) named(string) string { return "" }

// oldTLS recognises a handshake that failed for want of outdated TLS.
func oldTLS(text string) bool {
	return strings.Contains(text, "handshake failure") || strings.Contains(text, "protocol version")
}

// names are those in the certificate that was shown: the subject's and the
// alternatives.
func (t *trust) names() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := []string{}
	if t.leaf == nil {
		return names
	}
	for _, n := range append([]string{t.leaf.Subject.CommonName}, t.leaf.DNSNames...) {
		if n = strings.TrimSpace(n); n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}
