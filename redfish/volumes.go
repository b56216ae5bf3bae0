package redfish

import (
	"context"
	"fmt"
	"strings"
)

// Volume is a logical drive that a RAID controller makes of physical ones.
type Volume struct {
	Name       string `json:"name"`
	Controller string `json:"controller,omitempty"`
	Level      string `json:"level"`  // RAID0, RAID1, RAID5, …
	Drives     int    `json:"drives"` // physical drives in it, as far as it lists them
	Bytes      *int64 `json:"bytes,omitempty"`
	Health     string `json:"health,omitempty"` // OK, Warning, Critical; "" = not said
}

type volumeDoc struct {
	Name  text   `json:"Name"`
	RAID  text   `json:"RAIDType"`
	Type  text   `json:"VolumeType"`
	Bytes number `json:"CapacityBytes"`
	Links struct {
		Drives links `json:"Drives"`
	} `json:"Links"`
	Status struct {
		Health text `json:"Health"`
	} `json:"Status"`
}

// volumeTypes are the levels by the older VolumeType (DMTF Volume 1.0, deprecated in
// 1.3). The types that are not here make no RAID: RawDevice, NonRedundant.
var volumeTypes = map[string]string{
	"Mirrored": "RAID1", "StripedWithParity": "RAID5", "SpannedMirrors": "RAID10", "SpannedStripesWithParity": "RAID50",
}

func (d volumeDoc) level() string {
	if raid := strings.ToUpper(d.RAID.clean()); raid != "" {
		if !strings.HasPrefix(raid, "RAID") { // None: one drive, passed on
			return ""
		}
		return raid
	}
	return volumeTypes[d.Type.clean()]
}

// Volumes lists the RAID volumes of the system, and nothing that is no RAID: a namespace
// of an NVMe drive is a volume too by Redfish. It wraps ErrUnsupported where the BMC
// lists no volumes at all. A list that could not be read whole is an error: what is
// missing in it would look as if it had to be made.
func (c *Client) Volumes(ctx context.Context) ([]Volume, error) {
	host, err := c.host(ctx)
	if err != nil {
		return nil, err
	}
	type storageDoc struct {
		Name    text `json:"Name"`
		Volumes link `json:"Volumes"`
	}
	var unread gaps
	units, _ := resources[storageDoc](ctx, c, host.Storage, &unread)
	lists, out := 0, []Volume{}
	for _, u := range units {
		if u == nil || u.Volumes == "" {
			continue
		}
		lists++
		docs, uris := resources[volumeDoc](ctx, c, u.Volumes, &unread)
		for i, d := range docs {
			if d == nil || d.level() == "" {
				continue
			}
			out = append(out, Volume{
				Name: firstOf(d.Name.clean(), uris[i].id()), Controller: u.Name.clean(), Level: d.level(),
				Drives: len(d.Links.Drives), Bytes: d.Bytes.positive(), Health: d.Status.Health.clean(),
			})
		}
	}
	switch {
	case len(unread.list) > 0:
		return nil, fmt.Errorf("BMC %s: its volumes were not all read: %s", c.cfg.Addr, unread.list[0])
	case lists == 0:
		return nil, fmt.Errorf("BMC %s: %w: no list of volumes", c.cfg.Addr, ErrUnsupported)
	}
	return out, nil
}
