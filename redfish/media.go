package redfish

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// MediaSlot is one virtual drive, into which the BMC puts an image from the network.
type MediaSlot struct {
	ID       string   `json:"id"`
	URI      string   `json:"uri"`
	Types    []string `json:"types"`           // CD, DVD, USBStick, Floppy; empty: not said
	Inserted bool     `json:"inserted"`        // something is in it
	Image    string   `json:"image,omitempty"` // URL as the BMC shows it; may name what was in it before
	Style    string   `json:"style"`           // how it takes images: "action", "patch"
}

// The ways in which a slot takes images.
const (
	styleAction = "action"
	stylePatch  = "patch"
)

type mediaDoc struct {
	ID        text  `json:"Id"`
	ETag      text  `json:"@odata.etag"`
	Types     words `json:"MediaTypes"`
	Inserted  flag  `json:"Inserted"`
	Image     text  `json:"Image"`
	Connected text  `json:"ConnectedVia"`
	Actions   maybe[struct {
		Insert maybe[actionDoc] `json:"#VirtualMedia.InsertMedia"`
		Eject  maybe[actionDoc] `json:"#VirtualMedia.EjectMedia"`
	}] `json:"Actions"`
}

// used: Image may still name what was ejected, as on X12STW and H13SRD
// (community.general #6969), so it tells nothing.
func (d mediaDoc) used() bool {
	if d.Inserted.ok {
		return d.Inserted.value
	}
	return d.Connected.clean() != "" && d.Connected != "NotConnected"
}

func (d mediaDoc) slot(uri link) MediaSlot {
	s := MediaSlot{
		ID: firstOf(string(d.ID), uri.id()), URI: string(uri), Types: append([]string{}, d.Types...),
		Inserted: d.used(), Image: d.Image.clean(), Style: stylePatch,
	}
	if d.Actions.value.Insert.value.Target != "" {
		s.Style = styleAction
	}
	return s
}

// CD reports whether the slot takes a CD image, as far as the BMC says.
func (s MediaSlot) CD() bool {
	return len(s.Types) == 0 || slices.Contains(s.Types, "CD") || slices.Contains(s.Types, "DVD")
}

// Holds reports whether the slot has the image at a URL in it, perhaps written in
// another way: where the BMC shows a URL, its host and path count, since every machine's
// image may have one name; where it shows only a name, the name.
func (s MediaSlot) Holds(image string) bool {
	if !s.Inserted || s.Image == "" || s.Image == image {
		return s.Inserted && s.Image == image
	}
	want, err := url.Parse(image)
	if err != nil {
		return false
	}
	shown, err := url.Parse(s.Image)
	switch {
	case err == nil && shown.Host != "" && hostPort(shown) != hostPort(want):
		return false
	case err == nil && strings.Contains(shown.Path, "/"):
		return path.Clean(shown.Path) == path.Clean(want.Path)
	}
	return s.Image == path.Base(want.Path)
}

// Media lists the virtual drives of the host, those of its system before those of
// its managers: iDRAC9 from 6.00.02 lists both and takes images through the system's
// alone. One that is linked twice, or under both with one Id (XCC), is listed once.
// It wraps ErrUnsupported where there is none.
func (c *Client) Media(ctx context.Context) ([]MediaSlot, error) {
	var unread gaps
	collections, err := c.mediaLinks(ctx, &unread)
	if err != nil {
		return nil, err
	}
	var slots []MediaSlot
	seen := map[string]bool{}
	for _, uri := range collections {
		docs, uris := resources[mediaDoc](ctx, c, uri, &unread)
		for i, d := range docs {
			if d == nil {
				continue
			}
			s := d.slot(uris[i])
			if seen[s.URI] || seen[s.ID] {
				continue
			}
			seen[s.URI], seen[s.ID] = true, true
			slots = append(slots, s)
		}
	}
	switch {
	case len(slots) > 0:
		unread.log(ctx, c)
		return slots, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("BMC %s: virtual media: %w", c.cfg.Addr, context.Cause(ctx))
	case len(unread.list) > 0:
		return nil, fmt.Errorf("BMC %s: virtual media: %s", c.cfg.Addr, unread.list[0])
	case len(collections) > 0:
		return nil, fmt.Errorf("BMC %s: %w: it lists no virtual drive, as BMCs do whose licence or remote media setting is missing; look for both in its web page", c.cfg.Addr, ErrUnsupported)
	}
	return nil, fmt.Errorf("BMC %s: %w: no virtual media", c.cfg.Addr, ErrUnsupported)
}

// mediaLinks are the collections of drives.
func (c *Client) mediaLinks(ctx context.Context, unread *gaps) (links, error) {
	type linked struct {
		Media link `json:"VirtualMedia"`
	}
	host, err := c.host(ctx)
	if err != nil {
		return nil, err
	}
	var found links
	for _, d := range each[linked](ctx, c, append(links{c.system}, host.Links.value.ManagedBy...), unread) {
		if d != nil && d.Media != "" {
			found = append(found, d.Media)
		}
	}
	return unique(found), nil
}

// InsertMedia puts the image at a URL into a virtual drive and reads it back. The
// same image in a drive already is success. The first free drive for CDs is taken
// that takes the image; one in use is emptied only when none is free. The URL must
// be plain: http or https, no login and no query, ending in .iso or .img
// (ErrBadValue otherwise). It wraps ErrLicence where one is missing.
func (c *Client) InsertMedia(ctx context.Context, image string) (MediaSlot, error) {
	if err := checkImageURL(image); err != nil {
		return MediaSlot{}, fmt.Errorf("BMC %s: %w", c.cfg.Addr, err)
	}
	slots, err := c.offeredMedia(ctx)
	if err != nil {
		return MediaSlot{}, err
	}
	if i := slices.IndexFunc(slots, func(s MediaSlot) bool { return s.Holds(image) }); i >= 0 {
		return slots[i], nil
	}
	slots = slices.DeleteFunc(slots, func(s MediaSlot) bool { return !s.CD() })
	slices.SortStableFunc(slots, func(a, b MediaSlot) int { return rank(a) - rank(b) })
	var refused error
	for _, s := range slots {
		if s.Inserted {
			c.cfg.Log.WarnContext(ctx, "a virtual drive in use is emptied", "bmc", c.cfg.Addr, "slot", s.ID, "image", s.Image)
			if err := c.EjectMedia(ctx, s); err != nil {
				return MediaSlot{}, err
			}
		}
		in, err := c.insert(ctx, s, image)
		if err == nil {
			return in, nil
		}
		refused = errors.Join(refused, fmt.Errorf("slot %s: %w", s.ID, err))
		if !refusal(err) {
			break
		}
	}
	if refused == nil {
		return MediaSlot{}, fmt.Errorf("BMC %s: %w: no virtual drive takes a CD image", c.cfg.Addr, ErrUnsupported)
	}
	return MediaSlot{}, fmt.Errorf("BMC %s: image %s was not inserted: %w; check that the BMC reaches that address, or insert it by hand", c.cfg.Addr, image, refused)
}

// rank orders the free drives before those in use.
func rank(s MediaSlot) int {
	if s.Inserted {
		return 1
	}
	return 0
}

// refusal reports that the BMC answered and did not do it, so that another drive
// may be tried.
func refusal(err error) bool {
	return statusOf(err) != 0 && !uncertain(err) && !errors.Is(err, ErrLicence) && !errors.Is(err, ErrAuth) && !errors.Is(err, ErrPasswordChange)
}

// checkImageURL keeps to what every BMC takes: iDRAC wants the suffix
// (terraform-provider-redfish #84), a Supermicro GB300 takes no query.
func checkImageURL(image string) error {
	u, err := url.Parse(image)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("image URL: %w: want http://ADDRESS/NAME.iso", ErrBadValue)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("image URL: %w: no login and no query in it, BMCs show it to everybody and some refuse it", ErrBadValue)
	case !strings.HasSuffix(u.Path, ".iso") && !strings.HasSuffix(u.Path, ".img"):
		return fmt.Errorf("image URL %s: %w: it must end in .iso or .img", image, ErrBadValue)
	}
	return nil
}
