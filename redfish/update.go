package redfish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// UpdateWays is how a BMC takes firmware.
type UpdateWays struct {
	Pull       []string `json:"pull"`                  // protocols by which it fetches an image itself; empty: it does not, or does not say which
	Fetches    bool     `json:"simple_update"`         // it has SimpleUpdate
	Push       bool     `json:"multipart_push"`        // an image can be sent to it
	MaxBytes   int64    `json:"max_bytes"`             // of an image that is sent; 0: not said
	Targets    []string `json:"targets,omitempty"`     // what can be named as target; some are patterns; empty: not said
	ApplyTimes []string `json:"apply_times,omitempty"` // declared for SimpleUpdate
}

// Image is firmware to install, by one of two ways: from a URL that the BMC fetches, or
// sent to it as a file.
type Image struct {
	URL  string                        // http or https, without a login
	Name string                        // of the file that is sent
	Size int64                         // of it
	Open func() (io.ReadCloser, error) // it
	// Targets are the URIs of the entries of the firmware inventory that it is for;
	// empty leaves it to the BMC, which knows its own images.
	Targets []string
}

// updateDoc is the update service.
type updateDoc struct {
	Push    text   `json:"MultipartHttpPushUri"`
	Max     number `json:"MaxImageSizeBytes"`
	Enabled flag   `json:"ServiceEnabled"`
	Actions maybe[struct {
		Simple maybe[struct {
			Target    text  `json:"target"`
			Info      link  `json:"@Redfish.ActionInfo"`
			Protocols words `json:"TransferProtocol@Redfish.AllowableValues"`
			Targets   words `json:"Targets@Redfish.AllowableValues"`
			Times     maybe[struct {
				Supported words `json:"SupportedValues"`
			}] `json:"@Redfish.OperationApplyTimeSupport"`
		}] `json:"#UpdateService.SimpleUpdate"`
	}] `json:"Actions"`
}

// updatePlace is one look at the update service.
type updatePlace struct {
	ways         UpdateWays
	simple, push string // where to send
	protocol     bool   // SimpleUpdate wants its protocol beside the URL
}

// UpdateWays reads how the BMC takes firmware. It changes nothing.
func (c *Client) UpdateWays(ctx context.Context) (UpdateWays, error) {
	place, err := c.updatePlace(ctx)
	return place.ways, err
}

func (c *Client) updatePlace(ctx context.Context) (updatePlace, error) {
	if c.root.Update == "" {
		return updatePlace{}, fmt.Errorf("BMC %s: %w: no update service", c.cfg.Addr, ErrUnsupported)
	}
	var doc updateDoc
	if _, err := c.get(ctx, c.root.Update, &doc); err != nil {
		return updatePlace{}, err
	}
	if doc.Enabled.ok && !doc.Enabled.value {
		return updatePlace{}, fmt.Errorf("BMC %s: %w: its update service is switched off", c.cfg.Addr, ErrUnsupported)
	}
	act := doc.Actions.value.Simple.value
	p := updatePlace{simple: string(act.Target), push: string(doc.Push)}
	p.ways = UpdateWays{
		Pull: act.Protocols, Fetches: p.simple != "", Push: p.push != "", Targets: act.Targets, ApplyTimes: act.Times.value.Supported,
	}
	if n := doc.Max.positive(); n != nil {
		p.ways.MaxBytes = *n
	}
	if act.Info != "" {
		p.readInfo(ctx, c, act.Info)
	}
	return p, nil
}

// readInfo takes what stands in an ActionInfo instead of the action: Supermicro's
// targets, and that a DGX H100 requires the protocol.
func (p *updatePlace) readInfo(ctx context.Context, c *Client, uri link) {
	var info struct {
		Parameters list[struct {
			Name     text  `json:"Name"`
			Required flag  `json:"Required"`
			Allowed  words `json:"AllowableValues"`
		}] `json:"Parameters"`
	}
	if _, err := c.get(ctx, uri, &info); err != nil {
		c.cfg.Log.WarnContext(ctx, "parameters of an update are not known", "bmc", c.cfg.Addr, "err", err)
		return
	}
	for _, q := range info.Parameters {
		switch q.Name {
		case "TransferProtocol":
			p.protocol = q.Required.value
			if len(p.ways.Pull) == 0 {
				p.ways.Pull = q.Allowed
			}
		case "Targets":
			if len(p.ways.Targets) == 0 {
				p.ways.Targets = q.Allowed
			}
		}
	}
}

// CheckUpdate says whether an image could be installed, as far as that is known before
// it is sent: the way is offered, the size taken, each target in the firmware
// inventory, updateable and allowed. It changes nothing: it is the dry run. What does
// not fit wraps ErrBadValue or ErrUnsupported.
func (c *Client) CheckUpdate(ctx context.Context, image Image) error {
	place, err := c.updatePlace(ctx)
	if err != nil {
		return err
	}
	return c.checkImage(ctx, place, image)
}

func (c *Client) checkImage(ctx context.Context, place updatePlace, image Image) error {
	err := place.checkWay(image)
	if err == nil && len(image.Targets) > 0 {
		err = c.checkTargets(ctx, place.ways, image.Targets)
	}
	if err != nil {
		return fmt.Errorf("BMC %s: %w", c.cfg.Addr, err)
	}
	return nil
}

func (p updatePlace) checkWay(image Image) error {
	if image.URL == "" {
		switch {
		case image.Open == nil || image.Name == "":
			return fmt.Errorf("no firmware image is named: %w", ErrBadValue)
		case p.push == "":
			return fmt.Errorf("%w: no image can be sent to it; give a URL from which it fetches the image", ErrUnsupported)
		case p.ways.MaxBytes > 0 && image.Size > p.ways.MaxBytes:
			return fmt.Errorf("image %s has %d bytes: %w: it takes %d", image.Name, image.Size, ErrBadValue, p.ways.MaxBytes)
		}
		return nil
	}
	u, err := url.Parse(image.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("firmware URL: %w: want http://ADDRESS/FILE", ErrBadValue)
	case u.User != nil:
		return fmt.Errorf("firmware URL: %w: no login in it, BMCs show it to everybody", ErrBadValue)
	case p.simple == "":
		return fmt.Errorf("%w: it fetches no image; send the file", ErrUnsupported)
	case len(p.ways.Pull) > 0 && !slices.Contains(p.ways.Pull, strings.ToUpper(u.Scheme)):
		return fmt.Errorf("firmware URL: %w: it fetches by %s", ErrBadValue, strings.Join(p.ways.Pull, ", "))
	}
	return nil
}

// Names reports whether the BMC lists a URI among the targets that can be named.
func (w UpdateWays) Names(target string) bool {
	return slices.ContainsFunc(w.Targets, func(a string) bool {
		pattern, err := regexp.Compile("^(?:" + a + ")$")
		return a == target || err == nil && pattern.MatchString(target)
	})
}

// checkTargets compares with the inventory and with the list of targets, some of which
// are patterns (a SYS-821GE has "…/CPLD_Backplane_(\d+)").
func (c *Client) checkTargets(ctx context.Context, ways UpdateWays, targets []string) error {
	have, err := c.Firmware(ctx)
	if err != nil {
		return err
	}
	var wrong []error
	for _, t := range targets {
		i := slices.IndexFunc(have, func(f Firmware) bool { return f.URI == t })
		allowed := ways.Names(t)
		switch {
		case len(ways.Targets) > 0 && !allowed:
			wrong = append(wrong, fmt.Errorf("target %s: %w: it is not among those that can be updated", link(t).id(), ErrBadValue))
		case i < 0 && !allowed:
			wrong = append(wrong, fmt.Errorf("target %s: %w: not in the firmware inventory", t, ErrBadValue))
		case i >= 0 && have[i].Updateable != nil && !*have[i].Updateable:
			wrong = append(wrong, fmt.Errorf("target %s: %w: the BMC says that it cannot be updated", link(t).id(), ErrBadValue))
		}
	}
	return errors.Join(wrong...)
}
