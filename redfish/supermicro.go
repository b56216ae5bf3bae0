package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// supermicro is X11 to X14 and H12 to H14. Fixture: SYS-821GE-TNHR, BMC
// 11.01.01, BIOS 1.4.
type supermicro struct{ base }

// tells: the service's UUID is zeros and the BMC's MAC (SYS-821GE: …-7CC25550A8FF),
// and newer firmware names the system by its serial (SYS-510T, root 1.14).
func (supermicro) tells(root rootDoc, g *Greeting) {
	if node, ok := strings.CutPrefix(string(root.UUID), "00000000-0000-0000-0000-"); ok {
		g.MAC = universalMAC(CleanMAC(node))
	}
	g.Serial = root.Known.clean()
}

// postDone: a SYS-821GE stays at SystemHardwareInitializationComplete while its
// operating system runs.
func (supermicro) postDone(host systemDoc) (done, known bool) {
	done = host.Progress.value.LastState == "SystemHardwareInitializationComplete"
	return done, done
}

// identify finds the board's serial in the chassis' Oem part.
func (supermicro) identify(_ context.Context, _ *Client, _ systemDoc, chassis []*chassisDoc, id *Identity) {
	id.BoardSerial = firstOf(id.BoardSerial, serialIn(chassis, func(ch *chassisDoc) string {
		var ext struct {
			Board text `json:"BoardSerialNumber"`
		}
		oem(ch.Oem, "Supermicro", &ext)
		return ext.Board.clean()
	}))
}

// gpus reads the PCIe devices of the chassis: the processors of a SYS-821GE are
// its two CPUs, and the eight modules of its HGX board are devices GPU1 to GPU8,
// numbered by Oem.Supermicro.GPUSlot.
func (s supermicro) gpus(ctx context.Context, c *Client, procs []*processorDoc, chassis []*chassisDoc, unread *gaps) []GPU {
	gpus := s.base.gpus(ctx, c, procs, chassis, unread)
	known := map[string]bool{}
	for _, g := range gpus {
		known[g.Serial] = true
	}
	for _, ch := range chassis {
		if ch == nil || ch.Devices == "" {
			continue
		}
		devices, uris := resources[deviceDoc](ctx, c, ch.Devices, unread)
		for i, d := range devices {
			if d == nil || d.absent() {
				continue
			}
			var ext map[string]number
			oem(d.Oem, "Supermicro", &ext)
			slot, module := ext["GPUSlot"]
			serial := d.SerialNumber.clean()
			if !module || serial != "" && known[serial] {
				continue
			}
			g := GPU{Part: d.part(uris[i]), Firmware: d.Firmware.clean()}
			g.Label = uris[i].id()
			if slot.ok {
				g.Label = fmt.Sprintf("GPU%.0f", slot.value)
			}
			gpus = append(gpus, g)
		}
	}
	return gpus
}

// bootMode: without the mode Supermicro falls back to Legacy (Redfishtool #106).
func (supermicro) bootMode() bool { return true }

// bootBIOS: the SYS-821GE has UefiHttp and no HttpBootUri. Its registry says that a
// boot option is made of BootURI when BootDescription is filled in.
func (supermicro) bootBIOS(_ context.Context, _ *Client, want Boot) (map[string]any, string, error) {
	if want.HTTPBootURI == "" || want.MAC != "" {
		return nil, "", nil
	}
	return map[string]any{
		"NetworkStack": "Enabled", "IPv4HTTPSupport": "Enabled", "BootURI": want.HTTPBootURI, "BootDescription": "rackproof",
	}, "Supermicro keeps the boot URI among its BIOS settings", nil
}

// obstacles: SysLockdown refuses what changes anything, with
// OemSystemLockdownEnabled; licences are listed as texts of JSON, and without OOB
// or DCMS a 403 OemLicenseNotPassed names the one that is wanted (ironic-image
// #688).
func (s supermicro) obstacles(ctx context.Context, c *Client, host systemDoc) []Obstacle {
	found := s.base.obstacles(ctx, c, host)
	var unread gaps
	defer unread.log(ctx, c)
	for _, m := range each[managerDoc](ctx, c, host.Links.value.ManagedBy, &unread) {
		if m == nil {
			continue
		}
		var ext struct {
			Lockdown link `json:"SysLockdown"`
			Licences link `json:"LicenseManager"`
		}
		oem(m.Oem, "Supermicro", &ext)
		var lock struct {
			On flag `json:"SysLockdownEnabled"`
		}
		if ext.Lockdown != "" {
			if _, err := c.get(ctx, ext.Lockdown, &lock); err == nil && lock.On.value {
				found = append(found, Obstacle{
					Kind: LockedDown, What: "System Lockdown is on", Do: "switch SysLockdown off on the BMC's page",
					Stops: []string{"bios", "boot", "firmware", "bmc-network"}, Source: string(ext.Lockdown),
				})
			}
		}
		found = append(found, c.supermicroLicence(ctx, ext.Licences)...)
	}
	return found
}

func (c *Client) supermicroLicence(ctx context.Context, manager link) []Obstacle {
	var doc struct {
		Query link `json:"QueryLicense"`
	}
	var list struct {
		Licences words `json:"Licenses"`
	}
	if manager == "" {
		return nil
	}
	if _, err := c.get(ctx, manager, &doc); err != nil || doc.Query == "" {
		return nil
	}
	if _, err := c.get(ctx, doc.Query, &list); err != nil {
		return nil
	}
	all := strings.Join(list.Licences, " ")
	if strings.Contains(all, "OOB") || strings.Contains(all, "DCMS") {
		return nil
	}
	return []Obstacle{{
		Kind: NoLicence, What: "no OOB or DCMS licence is listed", Do: "install one if BIOS settings or virtual media are refused",
		Source: string(doc.Query),
	}}
}

// licences: the list of a license manager, each JSON in a string with its signature
// beside it (SYS-821GE, BMC 11.01.01).
func (s supermicro) licences(ctx context.Context, k *card) ([]string, link, error) {
	var ext struct {
		Manager link `json:"LicenseManager"`
	}
	if k.licenceOf(managerOEM, "Supermicro", &ext, func() bool { return ext.Manager != "" }) == "" {
		return s.base.licences(ctx, k)
	}
	var manager struct {
		Query link `json:"QueryLicense"`
	}
	if _, err := k.c.get(ctx, ext.Manager, &manager); err != nil {
		return nil, ext.Manager, err
	}
	var list struct {
		Licences words `json:"Licenses"`
	}
	if _, err := k.c.get(ctx, manager.Query, &list); err != nil {
		return nil, manager.Query, err
	}
	var names []string
	for _, l := range list.Licences {
		name := licenceNode(l)
		if name == "" {
			return nil, manager.Query, errors.New("a licence in another form than the known one")
		}
		names = append(names, name)
	}
	return names, manager.Query, nil
}

func licenceNode(licence string) string {
	var doc struct {
		Key struct {
			Node struct {
				Name text `json:"LicenseName"`
			} `json:"Node"`
		} `json:"ProductKey"`
	}
	if json.Unmarshal([]byte(licence), &doc) != nil {
		return ""
	}
	return doc.Key.Node.Name.clean()
}

func (supermicro) ways() []way {
	return []way{
		{"boot URI", "BootURI", seen, documented, "captured tree supermicro (SYS-821GE-TNHR, BMC 11.01.01): registry"},
		{"BMC socket", "LANInterface", seen, documented, "an X12 with schema v1_0_2; setting it: that schema"},
		{"lockdown", "SysLockdownEnabled", seen, "", "captured tree supermicro; refusals by its registry (OemSystemLockdownEnabled)"},
		{"licence", "QueryLicense", seen, "", "captured tree supermicro; refusal: ironic-image #688"},
	}
}
