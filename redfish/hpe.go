package redfish

import (
	"context"
	"regexp"
	"strings"
)

// hpe is iLO. Fixture: ProLiant DL385 Gen10 Plus v2, iLO5 2.72.
type hpe struct{ base }

// tells: iLO names the server as its product, and gives its own name and version to
// everybody (DL385 Gen10 Plus v2, iLO5 2.72).
func (hpe) tells(root rootDoc, g *Greeting) {
	var ext struct {
		Manager list[struct {
			Host    text `json:"HostName"`
			Type    text `json:"ManagerType"`
			Version text `json:"ManagerFirmwareVersion"`
		}] `json:"Manager"`
	}
	oem(root.Oem, "Hpe", &ext)
	g.Model = root.Product.clean()
	if len(ext.Manager) > 0 {
		m := ext.Manager[0]
		g.HostName, g.Firmware = m.Host.clean(), strings.TrimSpace(m.Type.clean()+" "+m.Version.clean())
	}
}

// named: the name of an iLO is "ILO" and the serial (DL385: ILOMXQ302099S).
func (hpe) named(host string) string { return factoryName(hpeName, host) }

var hpeName = regexp.MustCompile(`^ILO([0-9A-Z]{10})$`)

// postDone reads PostState, which iLO5 has instead of BootProgress.
func (h hpe) postDone(host systemDoc) (done, known bool) {
	switch h.postWord(host) {
	case "", "Unknown":
		return false, false
	case "FinishedPost":
		return true, true
	}
	return false, true
}

// postWord is PostState.
func (hpe) postWord(host systemDoc) string {
	var ext struct {
		State text `json:"PostState"`
	}
	oem(host.Oem, "Hpe", &ext)
	return string(ext.State)
}

// hardwareLog is the Integrated Management Log, whose service names no type (iLO 5
// 2.72). The iLO event log beside it has logins, the Event log repeats the IML.
func (hpe) hardwareLog(svc logServiceDoc, _ string) bool { return svc.ID == "IML" }

// bootBIOS: iLO5 and iLO6 keep the URI in UrlBootFile, which the captured DL385
// has (iLO6 refuses HttpBootUri: libredfish #76). It must end in .iso or .efi, as
// its registry says. The port is that of PreBootNetwork, which is left as it is.
func (hpe) bootBIOS(_ context.Context, _ *Client, want Boot) (map[string]any, string, error) {
	if want.HTTPBootURI == "" {
		return nil, "", nil
	}
	return map[string]any{"UrlBootFile": want.HTTPBootURI}, "iLO keeps the boot URI among its BIOS settings", nil
}

// obstacles: the server configuration lock notes every change and can halt the
// next boot for it (iLO5 2.72, HpeServerConfigLock).
func (h hpe) obstacles(ctx context.Context, c *Client, host systemDoc) []Obstacle {
	found := append(h.base.obstacles(ctx, c, host), c.hpeLicence(ctx, host)...)
	var bios struct {
		Oem oemDoc `json:"Oem"`
	}
	if host.Bios == "" {
		return found
	}
	if _, err := c.get(ctx, host.Bios, &bios); err != nil {
		return found
	}
	var ext struct {
		Links maybe[struct {
			Lock link `json:"ServerConfigLock"`
		}] `json:"Links"`
	}
	oem(bios.Oem, "Hpe", &ext)
	lock := ext.Links.value.Lock
	if lock == "" {
		return found
	}
	var doc struct {
		State text `json:"ServerConfigLockState"`
	}
	if _, err := c.get(ctx, lock, &doc); err == nil && doc.State == "Enabled" {
		found = append(found, Obstacle{
			Kind: LockedDown, What: "the server configuration lock is on", Do: "take it off with its password in the setup screen",
			Stops: []string{"bios"}, Source: string(lock),
		})
	}
	return found
}

// uriInBIOS: an iLO6 (1.58, 1.72, DL380a Gen11) that shows HttpBootUri answers
// PropertyNotWritableOrUnknown to it (libredfish #76).
func (hpe) uriInBIOS() bool { return true }

// licences: iLO names its one licence in the manager (DL385 Gen10 Plus v2, iLO5 2.72).
func (h hpe) licences(ctx context.Context, k *card) ([]string, link, error) {
	var ext struct {
		Licence maybe[struct {
			Name text `json:"LicenseString"`
		}] `json:"License"`
	}
	name := func() string { return ext.Licence.value.Name.clean() }
	from := k.licenceOf(managerOEM, "Hpe", &ext, func() bool { return name() != "" })
	if from == "" {
		return h.base.licences(ctx, k)
	}
	return []string{name()}, from, nil
}

func (hpe) ways() []way {
	return []way{
		{"boot URI", "UrlBootFile", seen, documented, "captured tree hpe (DL385 Gen10 Plus v2, iLO5 2.72); libredfish #76"},
		{"AC cycle", "AuxCycle", seen, documented, "captured tree hpe: the action lists it"},
		{"lockdown", "ServerConfigLock", seen, "", "captured tree hpe; refusals by its registry (ServerConfigurationLockEnabled)"},
		{"licence", "LicenseString", seen, "", "captured tree hpe"},
	}
}
