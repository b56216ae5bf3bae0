package redfish

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// get reads one resource into a document of tolerant fields and records its
// body.
func (c *Client) get(ctx context.Context, uri link, into any) (*answer, error) {
	if uri == "" {
		return nil, fmt.Errorf("BMC %s: %w: no link to it", c.cfg.Addr, ErrUnsupported)
	}
	a, err := c.t.read(ctx, string(uri))
	if err != nil {
		return a, err
	}
	c.record.keep(string(uri), a.body)
	if err := json.Unmarshal(a.body, into); err != nil {
		return a, fmt.Errorf("BMC %s: %s is no valid JSON (%w): a firmware fault, the raw body is kept", c.cfg.Addr, uri, err)
	}
	return a, nil
}

type collectionDoc struct {
	Members links `json:"Members"`
	Next    link  `json:"Members@odata.nextLink"`
}

// maxPages bounds a collection whose pages never end; the longest seen has 6.
const maxPages = 200

// members lists a collection over all its pages. What stands in the count does
// not matter: it covers all pages on one BMC and the first on another.
func (c *Client) members(ctx context.Context, uri link) (links, error) {
	var all links
	seen := map[link]bool{}
	for page := 0; uri != "" && !seen[uri] && page < maxPages; page++ {
		seen[uri] = true
		var doc collectionDoc
		if _, err := c.get(ctx, uri, &doc); err != nil {
			return all, err
		}
		all = append(all, doc.Members...)
		uri = doc.Next
	}
	return unique(all), nil
}

// unique drops repeated links: Dell lists a device once per function.
func unique(ls links) links {
	seen := map[link]bool{}
	var out links
	for _, l := range ls {
		if !seen[l] {
			seen[l] = true
			out = append(out, l)
		}
	}
	return out
}

// each reads the resources of all links, beside each other as far as the BMC
// bears it. Results stand in the order of the links; what could not be read is
// nil there and told to partial.
func each[T any](ctx context.Context, c *Client, ls links, partial *gaps) []*T {
	out := make([]*T, len(ls))
	var wg sync.WaitGroup
	for i, l := range ls {
		wg.Go(func() {
			doc := new(T)
			if _, err := c.get(ctx, l, doc); err != nil {
				partial.add(l, err)
				return
			}
			out[i] = doc
		})
	}
	wg.Wait()
	return out
}

// together runs readings beside each other; the gate bounds what the BMC gets.
func together(work ...func()) {
	var wg sync.WaitGroup
	for _, f := range work {
		wg.Go(f)
	}
	wg.Wait()
}

// ofEach does the same for every member of a list.
func ofEach[T any](list []T, do func(i int, member T)) {
	var wg sync.WaitGroup
	for i, m := range list {
		wg.Go(func() { do(i, m) })
	}
	wg.Wait()
}

// gaps collects what an inventory could not read: absent is not failed, and an
// unread part is not an absent one.
type gaps struct {
	mu   sync.Mutex
	list []string
}

// log is for what returns no list of gaps itself.
func (g *gaps) log(ctx context.Context, c *Client) {
	for _, why := range g.list {
		c.cfg.Log.WarnContext(ctx, "not read", "bmc", c.cfg.Addr, "why", why)
	}
}

func (g *gaps) add(uri link, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = append(g.list, fmt.Sprintf("%s: %v", uri, err))
}
