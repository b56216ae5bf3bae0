package redfish

import "context"

// hpeLicence: iLO's licence lists its features. VM is virtual media, which a DL385 Gen10
// Plus v2 (iLO5 2.72) with iLO Advanced shows as true; one that shows false refuses an
// image with LicenseKeyRequired once the host is past POST (documented, not seen).
func (c *Client) hpeLicence(ctx context.Context, host systemDoc) []Obstacle {
	var unread gaps
	defer unread.log(ctx, c)
	for _, m := range each[managerDoc](ctx, c, host.Links.value.ManagedBy, &unread) {
		if m == nil {
			continue
		}
		var ext struct {
			Links maybe[struct {
				Service link `json:"LicenseService"`
			}] `json:"Links"`
		}
		oem(m.Oem, "Hpe", &ext)
		if ext.Links.value.Service == "" {
			continue
		}
		type licence struct {
			Name     text `json:"License"`
			Features maybe[struct {
				Media flag `json:"VM"`
			}] `json:"LicenseFeatures"`
		}
		docs, uris := resources[licence](ctx, c, ext.Links.value.Service, &unread)
		for i, d := range docs {
			if d == nil || !d.Features.value.Media.ok || d.Features.value.Media.value {
				continue
			}
			return []Obstacle{{
				Kind: NoLicence, What: "licence " + firstOf(d.Name.clean(), uris[i].id()) + " has no virtual media",
				Do: "install iLO Advanced, or boot over HTTP or PXE", Source: string(uris[i]),
			}}
		}
	}
	return nil
}
