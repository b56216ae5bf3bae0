package redfish

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxLogPages bounds what is read of one log. A full SEL of a DGX H100 has 49
	// pages.
	maxLogPages = 100
	// maxLogSingles bounds the entries that are read one by one.
	maxLogSingles = 200
)

// logPage is one page of entries.
type logPage struct {
	uri     link
	entries []entryDoc
	bare    links // members that are only links
	count   int   // as told, of all pages or of this one
	next    link
}

func (p *logPage) UnmarshalJSON(b []byte) error {
	var doc struct {
		Members []json.RawMessage `json:"Members"`
		Count   number            `json:"Members@odata.count"`
		Next    link              `json:"Members@odata.nextLink"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return err
	}
	*p = logPage{next: doc.Next, count: int(doc.Count.value)}
	for _, raw := range doc.Members {
		var e entryDoc
		switch err := json.Unmarshal(raw, &e); {
		case err != nil:
			continue // no object
		case e.given():
			p.entries = append(p.entries, e)
		case e.URI != "":
			p.bare = append(p.bare, e.URI)
		}
	}
	return nil
}

// before reports whether all entries of the page are older than since. One without
// a time does not tell.
func (p *logPage) before(since time.Time, offset string) bool {
	if since.IsZero() {
		return false
	}
	older := false
	for _, e := range p.entries {
		if at := e.created(offset); !at.IsZero() {
			if !at.Before(since) {
				return false
			}
			older = true
		}
	}
	return older
}

// newestFirst reports the order of a page. With fewer than two moments it is not
// known, and taken for the order in which most BMCs write: oldest first.
func newestFirst(entries []entryDoc, offset string) bool {
	var first, last time.Time
	for _, e := range entries {
		if at := e.created(offset); !at.IsZero() {
			if first.IsZero() {
				first = at
			}
			last = at
		}
	}
	return first.After(last)
}

// logEntries reads the entries of a collection since a moment.
func (c *Client) logEntries(ctx context.Context, uri link, since time.Time, offset string) ([]entryDoc, error) {
	first, err := c.firstLogPage(ctx, uri)
	if err != nil {
		return nil, err
	}
	var all []entryDoc
	switch {
	case len(first.bare) > 0:
		all, err = c.singleEntries(ctx, first, since, offset)
	case first.next == "":
		all = first.entries
	case newestFirst(first.entries, offset):
		all, err = c.pagesOnward(ctx, first, since, offset)
	default:
		all, err = c.pagesFromEnd(ctx, first, since, offset)
	}
	return slices.DeleteFunc(all, func(e entryDoc) bool {
		at := e.created(offset)
		return !at.IsZero() && at.Before(since)
	}), err
}

func (c *Client) logPageAt(ctx context.Context, uri link) (*logPage, error) {
	page := &logPage{}
	_, err := c.get(ctx, uri, page)
	page.uri = uri
	return page, err
}

// firstLogPage asks for the entries with their content where $expand is offered.
func (c *Client) firstLogPage(ctx context.Context, uri link) (*logPage, error) {
	page, err := c.logPageAt(ctx, uri)
	if err != nil || len(page.bare) == 0 || !c.expands() || c.isBare(uri) {
		return page, err
	}
	full, err := c.logPageAt(ctx, uri+expandQuery)
	if err != nil || len(full.bare) > 0 {
		c.markBare(uri)
		return page, nil
	}
	return full, nil
}

// pagesOnward follows the pages of a log that begins with the newest entry.
func (c *Client) pagesOnward(ctx context.Context, page *logPage, since time.Time, offset string) ([]entryDoc, error) {
	all := page.entries
	seen := map[link]bool{page.uri: true}
	for n := 1; page.next != "" && !seen[page.next] && !page.before(since, offset); n++ {
		if n == maxLogPages {
			return all, fmt.Errorf("only the newest %d entries were read", len(all))
		}
		seen[page.next] = true
		next, err := c.logPageAt(ctx, page.next)
		if err != nil {
			return all, err
		}
		all, page = append(all, next.entries...), next
	}
	return all, nil
}

// pagesFromEnd reads a log that begins with the oldest entry from its other end,
// where the link to the next page shows how to skip; else it follows all pages.
func (c *Client) pagesFromEnd(ctx context.Context, first *logPage, since time.Time, offset string) ([]entryDoc, error) {
	size := len(first.entries)
	skipTo := skipping(first.next)
	if skipTo == nil || first.count <= size {
		all, err := c.pagesOnward(ctx, first, time.Time{}, offset)
		return all, err
	}
	var pages [][]entryDoc
	read := 0
	for end := first.count; end > size; {
		start := max(end-size, size)
		page, err := c.logPageAt(ctx, skipTo(start))
		if err == nil && len(page.entries) == 0 && end == first.count && start > size {
			// The count was of something else; every page is asked for.
			return c.pagesOnward(ctx, first, time.Time{}, offset)
		}
		if err != nil {
			return flat(pages), err
		}
		part := page.entries[:min(len(page.entries), end-start)]
		if end == first.count {
			part = page.entries // and what was logged since the first page was read
		}
		pages = append(pages, part)
		read++
		switch {
		case page.before(since, offset):
			return flat(pages), nil
		case read == maxLogPages:
			return flat(pages), fmt.Errorf("only the newest %d of %d entries were read", first.count-start, first.count)
		case len(page.entries) < end-start:
			return flat(pages), fmt.Errorf("a page of %d entries holds %d", end-start, len(page.entries))
		}
		end = start
	}
	return append(slices.Clone(first.entries), flat(pages)...), nil
}

// flat joins pages that were read from the last to the first.
func flat(pages [][]entryDoc) []entryDoc {
	slices.Reverse(pages)
	return slices.Concat(pages...)
}

// skipping gives the link to a page by the entries before it, in the way the BMC
// itself writes the link to its next page; nil where it writes none with $skip.
func skipping(next link) func(int) link {
	path, query, _ := strings.Cut(string(next), "?")
	parts := strings.Split(query, "&")
	at := slices.IndexFunc(parts, func(p string) bool {
		name, _, _ := strings.Cut(p, "=")
		name, err := url.QueryUnescape(name)
		return err == nil && name == "$skip"
	})
	if at < 0 {
		return nil
	}
	name, _, _ := strings.Cut(parts[at], "=")
	return func(n int) link {
		with := slices.Clone(parts)
		with[at] = name + "=" + strconv.Itoa(n)
		return link(path + "?" + strings.Join(with, "&"))
	}
}

// singleEntries reads the entries of a log that lists only links, from its newest
// end, until some in a row are older than since.
func (c *Client) singleEntries(ctx context.Context, page *logPage, since time.Time, offset string) ([]entryDoc, error) {
	const atOnce = 8
	uris := slices.Clone(page.bare)
	if page.next != "" {
		rest, err := c.members(ctx, page.next)
		if err != nil {
			return nil, err
		}
		uris = unique(append(uris, rest...))
	}
	var unread gaps
	ends := each[entryDoc](ctx, c, unique(links{uris[0], uris[len(uris)-1]}), &unread)
	var known []entryDoc
	for _, e := range ends {
		if e != nil {
			known = append(known, *e)
		}
	}
	if !newestFirst(known, offset) {
		slices.Reverse(uris)
	}
	var all []entryDoc
	for len(uris) > 0 && len(all) < maxLogSingles {
		n := min(atOnce, len(uris))
		some := &logPage{}
		for _, e := range each[entryDoc](ctx, c, uris[:n], &unread) {
			if e != nil {
				some.entries = append(some.entries, *e)
			}
		}
		all, uris = append(all, some.entries...), uris[n:]
		if some.before(since, offset) {
			uris = nil
		}
	}
	if len(uris) > 0 {
		return all, fmt.Errorf("only the newest %d entries were read", len(all))
	}
	if len(unread.list) > 0 {
		return all, fmt.Errorf("%d entries were not read, the first: %s", len(unread.list), unread.list[0])
	}
	return all, nil
}
