package redfish

import (
	"bytes"
	"context"
	"encoding/json"
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
	members, ok := expanded(ctx, c, uri, member.given, unread)
	if !ok {
		return collection[T](ctx, c, uri, unread)
	}
	for _, m := range members {
		doc := new(T)
		if err := json.Unmarshal(m.body, doc); err != nil {
			unread.add(m.uri, err)
			doc = nil
		}
		docs, uris = append(docs, doc), append(uris, m.uri)
	}
	return docs, uris
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
