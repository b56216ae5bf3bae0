package provision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rackproof/rackproof/redfish"
)

// Search says where BMCs are looked for. Nothing is sent to an address that none of it
// leads to.
type Search struct {
	Sightings  []Sighting // of lease files and stated networks
	Interfaces []string   // whose links are asked: SSDP, IPv6 echo, the kernel's neighbours
	Labels     []Label    // the user's list
	OUIs       []string   // only MACs that begin so are asked, where a MAC is known; aa:bb:cc

	Parallel int                 // addresses asked at once; 0 means 32
	Rate     int                 // addresses a second; 0 means 50
	Pins     redfish.PinStore    // what is known of certificates; nil: nothing
	Progress func(asked, of int) // as addresses are asked; may be nil
}

// Sighting is a place where a BMC may be, and who says so.
type Sighting struct {
	At     netip.AddrPort
	MAC    string // of what is there, "" where not told
	Host   string // its name in a lease
	Source string // for people, such as "lease leases.txt:12"
}

// Found is what a search found.
type Found struct {
	BMCs    []Discovered
	Missing []Label  // of the user's list, that no BMC was found for
	Odd     []Oddity // addresses that answered, and not as a BMC does
	Asked   int      // addresses
	Notes   []string // what could not be looked at, and why
}

// Oddity is an address that answered oddly.
type Oddity struct {
	Addr string `json:"addr"`
	What string `json:"what"`
}

const (
	defaultAskParallel = 32
	defaultAskRate     = 50
	connectWait        = 3 * time.Second
	greetWait          = 15 * time.Second
)

// Discover looks for BMCs and asks each who it is, without a login: TCP 443 and the
// Redfish service root, and one presence ping to UDP 623. It ends with ctx.
func Discover(ctx context.Context, s Search) (Found, error) {
	var found Found
	sightings, err := s.look(ctx, &found)
	if err != nil {
		return found, err
	}
	spots := s.gather(sightings)
	found.Asked = len(spots)
	answers := s.askAll(ctx, spots, askWho)
	if ctx.Err() != nil {
		return found, context.Cause(ctx)
	}
	// Whoever answered on our link is in the table now, with its MAC.
	if near, err := neighbours(nil); err == nil {
		macs := map[netip.Addr]string{}
		for _, n := range near {
			macs[n.At.Addr()] = n.MAC
		}
		for i := range spots {
			spots[i].seen = macs[spots[i].at.Addr()]
		}
	}
	for i, a := range answers {
		s.sort(spots[i], a, &found)
	}
	s.join(&found)
	return found, nil
}

// look asks the links of all interfaces beside each other, and then reads who is
// known there.
func (s Search) look(ctx context.Context, found *Found) ([]Sighting, error) {
	all := slices.Clone(s.Sightings)
	var mu sync.Mutex
	var wg sync.WaitGroup
	take := func(list []Sighting, err error) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, list...)
		if err != nil {
			found.Notes = append(found.Notes, err.Error())
		}
	}
	links := make([]*net.Interface, len(s.Interfaces))
	for i, name := range s.Interfaces {
		var err error
		if links[i], err = net.InterfaceByName(name); err != nil {
			return nil, fmt.Errorf("interface %s: %w", name, err)
		}
	}
	for _, on := range links {
		take(s.byMAC(on.Name), nil)
		for _, group := range ssdpGroups {
			wg.Go(func() { take(searchSSDP(ctx, on, group)) })
		}
		wg.Go(func() { take(pingAllNodes(ctx, on)) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(s.Interfaces) > 0 {
		take(neighbours(s.Interfaces))
	}
	slices.Sort(found.Notes)
	return all, nil
}

// byMAC are the addresses that the machines of the user's list give themselves on a link.
func (s Search) byMAC(zone string) []Sighting {
	var list []Sighting
	for _, label := range s.Labels {
		if addr, ok := linkLocal(label.MAC, zone); ok {
			source := fmt.Sprintf("IPv6 link-local of %s:%d on %s", label.Pos.File, label.Pos.Line, zone)
			list = append(list, Sighting{At: netip.AddrPortFrom(addr, httpsPort), MAC: label.MAC, Source: source})
		}
	}
	return list
}

// spot is one address, with all that is said of it.
type spot struct {
	at      netip.AddrPort
	seen    string // MAC on the wire
	macs    []string
	host    string
	sources []string
}

// gather makes one spot of all sightings of an address, and leaves out those whose
// MAC is another maker's.
func (s Search) gather(sightings []Sighting) []spot {
	var spots []spot
	at := map[netip.AddrPort]int{}
	for _, g := range sightings {
		i, known := at[g.At]
		if !known {
			i = len(spots)
			at[g.At] = i
			spots = append(spots, spot{at: g.At})
		}
		p := &spots[i]
		if g.MAC != "" {
			p.macs = with(p.macs, []string{g.MAC})
		}
		p.host, p.sources = or(p.host, g.Host), with(p.sources, []string{g.Source})
	}
	return slices.DeleteFunc(spots, func(p spot) bool {
		return len(s.OUIs) > 0 && len(p.macs) > 0 && !slices.ContainsFunc(p.macs, s.wanted)
	})
}

func (s Search) wanted(mac string) bool {
	return slices.ContainsFunc(s.OUIs, func(oui string) bool { return strings.HasPrefix(mac, oui) })
}

// answer is what one address said.
type answer struct {
	greeting redfish.Greeting
	err      error // of greeting
	ping     redfish.Presence
}

// askAll asks every address once, so many at a time and a second.
func (s Search) askAll(ctx context.Context, spots []spot, ask func(context.Context, netip.AddrPort) answer) []answer {
	out := make([]answer, len(spots))
	rate := s.Rate
	if rate <= 0 {
		rate = defaultAskRate
	}
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	parallel := s.Parallel
	if parallel <= 0 {
		parallel = defaultAskParallel
	}
	places := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range spots {
		select {
		case <-ctx.Done():
			return out
		case places <- struct{}{}:
		}
		select {
		case <-ctx.Done():
			return out
		case <-tick.C:
		}
		wg.Go(func() {
			defer func() { <-places }()
			out[i] = ask(ctx, spots[i].at)
		})
		if s.Progress != nil {
			s.Progress(i+1, len(spots))
		}
	}
	return out
}

// askWho sends to one address what tells a BMC from anything else.
func askWho(ctx context.Context, at netip.AddrPort) answer {
	cfg := redfish.Config{
		Addr: at.String(), Timeout: greetWait, Dial: (&net.Dialer{Timeout: connectWait}).DialContext,
	}
	var a answer
	var wg sync.WaitGroup
	wg.Go(func() { a.greeting, a.err = redfish.Greet(ctx, cfg) })
	if at.Port() == httpsPort { // behind another port is no BMC of its own
		wg.Go(func() { a.ping, _ = redfish.Ping(ctx, at.Addr().String()) })
	}
	wg.Wait()
	return a
}

// sort puts an answer where it belongs. A machine that is silent, or has a web server
// and no more, is no BMC.
func (s Search) sort(p spot, a answer, found *Found) {
	pong := a.ping == redfish.IPMIPresent || a.ping == redfish.RMCPPresent
	switch {
	case a.err == nil || pong:
		found.BMCs = append(found.BMCs, s.describe(p, a))
	case a.greeting.SHA256 != "" && !errors.Is(a.err, redfish.ErrNoRedfish):
		found.Odd = append(found.Odd, Oddity{Addr: bmcWords(p.at), What: a.err.Error()})
	}
}
