package redfish

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// expandQuery asks for the members of a collection in its own answer (DSP0266,
// 7.3.1). "." leaves links to other resources alone.
const expandQuery = "?$expand=.($levels=1)"

// expands reports whether the BMC says that it knows $expand.
func (c *Client) expands() bool {
	e := c.root.Offers.value.Expand.value
	return e.NoLinks.value || e.All.value
}

// expanded reads a collection over all its pages with its members inside. ok is
// false where the BMC does not offer that, or says so and answers with links;
// the latter is remembered, so that it is asked once only. given tells a member
// that is there from one that is only a link.
func expanded[T any](ctx context.Context, c *Client, uri link, given func(T) bool, unread *gaps) (docs []T, ok bool) {
	if uri == "" || !c.expands() || strings.Contains(string(uri), "?") || c.isBare(uri) {
		return nil, false
	}
	type pageDoc struct {
		Members []json.RawMessage `json:"Members"`
		Next    link              `json:"Members@odata.nextLink"`
	}
	seen := map[link]bool{}
	next := uri + expandQuery
	for page := 0; next != "" && !seen[next] && page < maxPages; page++ {
		seen[next] = true
		var doc pageDoc
		if _, err := c.get(ctx, next, &doc); err != nil {
			if page == 0 { // refused: it is asked without
				c.markBare(uri)
				return nil, false
			}
			unread.add(next, err)
			return docs, true
		}
		for _, raw := range doc.Members {
			var d T
			if json.Unmarshal(raw, &d) != nil {
				continue // not even an object
			}
			if !given(d) {
				c.markBare(uri)
				return nil, false
			}
			docs = append(docs, d)
		}
		next = doc.Next
	}
	return docs, len(docs) > 0
}

func (c *Client) isBare(uri link) bool {
	c.plan.mu.Lock()
	defer c.plan.mu.Unlock()
	return c.plan.bare[uri]
}

func (c *Client) markBare(uri link) {
	c.plan.mu.Lock()
	defer c.plan.mu.Unlock()
	if c.plan.bare == nil {
		c.plan.bare = map[link]bool{}
	}
	c.plan.bare[uri] = true
}

// resources reads a collection of whole resources with their links: expanded where
// that works, else one by one. What could not be read is nil.
func resources[T any](ctx context.Context, c *Client, uri link, unread *gaps) (docs []*T, uris links) {
	return resourcesThat[T](ctx, c, uri, func(link) bool { return true }, unread)
}

// resourcesThat leaves out what is not wanted by its link.
func resourcesThat[T any](ctx context.Context, c *Client, uri link, wanted func(link) bool, unread *gaps) (docs []*T, uris links) {
	if uri == "" {
		return nil, nil
	}
	members, err := c.roster(ctx, uri)
	if err != nil {
		unread.add(uri, err)
	}
	members = slices.DeleteFunc(members, func(m member) bool { return !wanted(m.uri) })
	docs = make([]*T, len(members))
	var single links
	var at []int
	for i, m := range members {
		uris = append(uris, m.uri)
		if !m.given() {
			single, at = append(single, m.uri), append(at, i)
			continue
		}
		doc := new(T)
		if err := json.Unmarshal(m.body, doc); err != nil {
			unread.add(m.uri, err)
			continue
		}
		docs[i] = doc
	}
	for i, doc := range each[T](ctx, c, single, unread) {
		docs[at[i]] = doc
	}
	return docs, uris
}

// roster lists a collection over all its pages, with its members inside where the
// BMC expands them. One that declares $expand may refuse it on a resource (IBM's
// bmcweb takes it on three of them, bmcweb #962; an iRMC answers
// QueryNotSupportedOnResource, check_redfish #20) or answer with links all the
// same: then the links count.
func (c *Client) roster(ctx context.Context, uri link) ([]member, error) {
	var all []member
	known, pages := map[link]bool{}, map[link]bool{}
	next := uri
	if c.expands() && !strings.Contains(string(uri), "?") && !c.isBare(uri) {
		next += expandQuery
	}
	for page := 0; next != "" && !pages[next] && page < maxPages; page++ {
		pages[next] = true
		list, following, err := c.rosterPage(ctx, next)
		if err != nil && page == 0 && next != uri && ctx.Err() == nil {
			c.markBare(uri)
			list, following, err = c.rosterPage(ctx, uri)
		}
		if err != nil {
			return all, err
		}
		all = append(all, newMembers(list, known)...)
		next = following
	}
	return all, nil
}

// newMembers are the members that are not known yet, which makes them so: Dell lists a
// device once per function.
func newMembers(list []member, known map[link]bool) []member {
	var fresh []member
	for _, m := range list {
		if known[m.uri] || m.uri == "" && !m.given() {
			continue
		}
		known[m.uri] = m.uri != ""
		fresh = append(fresh, m)
	}
	return fresh
}

// rosterPage reads one page. It is recorded as it would be without $expand: the
// members under their own URIs, with links to them in the page.
func (c *Client) rosterPage(ctx context.Context, uri link) (list []member, next link, err error) {
	a, err := c.t.read(ctx, string(uri))
	if err != nil {
		return nil, "", err
	}
	plainURI := strings.TrimSuffix(string(uri), expandQuery)
	var doc struct {
		Members memberList `json:"Members"`
		Next    link       `json:"Members@odata.nextLink"`
	}
	if err := json.Unmarshal(a.body, &doc); err != nil {
		c.record.keep(plainURI, a.body)
		return nil, "", fmt.Errorf("BMC %s: %s is no valid JSON (%w): a firmware fault, the raw body is kept", c.cfg.Addr, plainURI, err)
	}
	whole := false
	for _, m := range doc.Members {
		if whole = whole || m.given(); m.given() && m.uri != "" {
			c.record.keep(string(m.uri), m.body)
		}
	}
	if !whole {
		c.record.keep(plainURI, a.body)
		return doc.Members, doc.Next, nil
	}
	body := object(a.body)
	links := make([]map[string]string, len(doc.Members))
	for i, m := range doc.Members {
		links[i] = map[string]string{"@odata.id": string(m.uri)}
	}
	body["Members"] = links
	if short, err := json.Marshal(body); err == nil {
		c.record.keep(plainURI, short)
	}
	return doc.Members, doc.Next, nil
}

// memberList takes bare strings and objects, and drops what is neither.
type memberList []member

func (l *memberList) UnmarshalJSON(b []byte) error {
	*l = nil
	var raw []json.RawMessage
	if json.Unmarshal(b, &raw) != nil {
		return nil
	}
	for _, r := range raw {
		var m member
		if m.UnmarshalJSON(r) != nil {
			_ = m.uri.UnmarshalJSON(r)
			m.id, m.body = "", nil
		}
		*l = append(*l, m)
	}
	return nil
}

// member is one of a collection, whole or only a link.
type member struct {
	uri  link
	id   text
	body json.RawMessage
}

func (m *member) UnmarshalJSON(b []byte) error {
	var doc struct {
		URI link `json:"@odata.id"`
		ID  text `json:"Id"`
	}
	err := json.Unmarshal(b, &doc)
	m.uri, m.id, m.body = doc.URI, doc.ID, bytes.Clone(b)
	return err
}

func (m member) given() bool { return m.id != "" }
