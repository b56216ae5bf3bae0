package redfish

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// maxHops bounds redirects. BMCs need one, to the slash at the end of a path.
const maxHops = 3

// stay keeps net/http from following redirects: it would turn a redirected POST
// into a GET, and carry a token to another host.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// redirected gives the place to which an answer sends a request: on this BMC alone,
// with the method kept. A redirected act had no effect yet. See Other is no such
// answer: what it answers has happened.
func (t *transport) redirected(from *url.URL, a *answer) (*url.URL, bool) {
	switch a.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, false
	}
	to, err := from.Parse(a.header.Get("Location"))
	if err != nil || a.header.Get("Location") == "" || to.Scheme != from.Scheme || hostPort(to) != hostPort(from) {
		return nil, false
	}
	to.Host, to.User, to.Fragment = from.Host, nil, ""
	return to, true
}

// hostPort is where a URL leads: a BMC that is asked at port 443 names itself
// without it.
func hostPort(u *url.URL) string {
	port := firstOf(u.Port(), map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)])
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
