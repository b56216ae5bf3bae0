package redfish

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// dell is iDRAC. Fixture: PowerEdge R750, iDRAC9 6.00.30.
type dell struct{ base }

// identify knows that the number on the sticker, the service tag, stands in SKU,
// while SerialNumber is the board's: CNIVC0014M0388 beside F54P1G3 on the R750.
// The host's SMBIOS system serial is the service tag too.
func (dell) identify(_ context.Context, _ *Client, host systemDoc, _ []*chassisDoc, id *Identity) {
	id.ServiceTag = host.SKU.clean()
	id.BoardSerial = firstOf(id.BoardSerial, id.SystemSerial)
}

// tells: an iDRAC gives its tag and its own MAC to everybody (R750, 6.00.30).
func (dell) tells(root rootDoc, g *Greeting) {
	var ext struct {
		Tag text `json:"ServiceTag"`
		MAC text `json:"ManagerMACAddress"`
	}
	oem(root.Oem, "Dell", &ext)
	g.Serial, g.MAC = ext.Tag.clean(), CleanMAC(string(ext.MAC))
}

// named: the name of an iDRAC is "idrac-" and the tag (R750, 6.00.30; so the iDRAC9
// user's guide, DNS iDRAC Name).
func (dell) named(host string) string { return factoryName(dellName, host) }

var (
	dellName   = regexp.MustCompile(`^IDRAC-([0-9A-Z]{7})$`)
	dellSlot   = regexp.MustCompile(`\.Slot\.(\d+)`)
	dellDevice = regexp.MustCompile(`^(\d+)-(\d+)$`)
)

// gpus names a card by its slot and finds its address: the id "Video.Slot.2-1"
// is slot 2, its PCIeDevice "23-0" is bus 23 (decimal) device 0.
func (d dell) gpus(ctx context.Context, c *Client, procs []*processorDoc, chassis []*chassisDoc, unread *gaps) []GPU {
	gpus := d.base.gpus(ctx, c, procs, chassis, unread)
	device := map[string]link{}
	for _, p := range procs {
		device[string(p.uri)] = p.Links.value.Device
	}
	for i := range gpus {
		g := &gpus[i]
		if m := dellSlot.FindStringSubmatch(link(g.URI).id()); m != nil && g.Label == "" {
			g.Label = "Slot " + m[1]
		}
		if m := dellDevice.FindStringSubmatch(device[g.URI].id()); m != nil {
			bus, _ := strconv.Atoi(m[1])
			dev, _ := strconv.Atoi(m[2])
			g.PCIAddress = fmt.Sprintf("0000:%02x:%02x.0", bus, dev)
		}
	}
	return gpus
}

// installed skips what iDRAC keeps beside the running firmware: each component
// is listed as Installed-, Current- and Previous- or Available-.
func (dell) installed(entry link) bool { return strings.HasPrefix(entry.id(), "Installed-") }

// commit turns staged BIOS values into a job. Where the PATCH took an apply time
// its answer names the job; a PATCH without one only stages, and is never
// applied (iDRAC-Redfish-Scripting #84). "Already committed" means that the job
// exists (quads #726).
func (dell) commit(ctx context.Context, c *Client, settings link, staged string) (string, error) {
	if staged != "" {
		return staged, nil
	}
	queue, err := c.dellQueue(ctx, settings)
	if err != nil {
		return "", err
	}
	// Values that waited already have theirs, perhaps by our own hand before we
	// were interrupted.
	if job, found := c.dellScheduled(ctx, queue); found {
		return job, nil
	}
	a, err := c.t.act(ctx, call{
		method: http.MethodPost, uri: string(queue),
		body: map[string]string{"TargetSettingsURI": string(settings)},
	})
	if err == nil {
		return location(a), nil
	}
	if job, found := c.dellScheduled(ctx, queue); found {
		return job, nil
	}
	return "", fmt.Errorf("create the BIOS job: %w", err)
}

// dellQueue finds the job queue by the settings object.
func (c *Client) dellQueue(ctx context.Context, settings link) (link, error) {
	var doc struct {
		Oem oemDoc `json:"Oem"`
	}
	if _, err := c.get(ctx, settings, &doc); err != nil {
		return "", fmt.Errorf("find the job queue: %w", err)
	}
	var queue struct {
		Jobs link `json:"Jobs"`
	}
	oem(doc.Oem, "Dell", &queue)
	if queue.Jobs == "" {
		return "", fmt.Errorf("BMC %s: BIOS values are staged, but %s names no job queue: create the BIOS job in iDRAC", c.cfg.Addr, settings)
	}
	return queue.Jobs, nil
}

// dellScheduled finds the BIOS job that waits for a reset.
func (c *Client) dellScheduled(ctx context.Context, queue link) (string, bool) {
	jobs, uris := resources[jobDoc](ctx, c, queue, &gaps{})
	for i, j := range jobs {
		if j != nil && j.Type == "BIOSConfiguration" && (j.State == "Scheduled" || j.State == "New" || j.State == "Scheduling") {
			return string(uris[i]), true
		}
	}
	return "", false
}

// led: the status LED of an R750 that nobody looks for reads "Lit", and blinks
// as the locator.
func (dell) led() (lit, off string) { return "Blinking", "Lit" }

// hardwareLog leaves the FaultList out, which repeats what the SEL has, and by its
// type the Lclog, which holds 500,000 entries of logins, jobs and the SEL again
// (R750, iDRAC9 6.00.30).
func (d dell) hardwareLog(svc logServiceDoc, owner string) bool {
	return svc.ID != "FaultList" && d.base.hardwareLog(svc, owner)
}

// bootBIOS: iDRAC9 (R760, libredfish #74) and iDRAC10 (R670) have no HttpBootUri,
// and their override names no port. Both stand in the settings of HTTP and PXE
// device 1, which the captured R750 has; a port is known there by the Id of its
// network function.
func (dell) bootBIOS(ctx context.Context, c *Client, want Boot) (map[string]any, string, error) {
	device, attrs := "PxeDev1", map[string]any{}
	switch {
	case strings.EqualFold(want.Target, "UefiHttp"):
		device = "HttpDev1"
		attrs["HttpDev1Uri"], attrs["HttpDev1DhcpEnDis"] = want.HTTPBootURI, "Enabled"
		if strings.HasPrefix(want.HTTPBootURI, "http:") {
			attrs["HttpDev1TlsMode"] = "None"
		}
	case want.MAC == "" || !strings.EqualFold(want.Target, "Pxe"):
		return nil, "", nil
	}
	attrs[device+"EnDis"], attrs[device+"Protocol"] = "Enabled", "IPv4"
	if want.MAC != "" {
		port := c.portFunction(ctx, want.MAC)
		if port == "" {
			return nil, "", nil
		}
		attrs[device+"Interface"] = port
	}
	return attrs, "iDRAC keeps the URI and the port of network boots among its BIOS settings", nil
}

// obstacles: System Lockdown refuses every change (SYS406); a scheduled BIOS job
// refuses other BIOS values (SYS011).
func (dell) obstacles(ctx context.Context, c *Client, host systemDoc) []Obstacle {
	var found []Obstacle
	var unread gaps
	defer unread.log(ctx, c)
	for _, manager := range host.Links.value.ManagedBy {
		uris, err := c.dellAttributes(ctx, manager)
		if err != nil {
			unread.add(manager, err)
		}
		for _, l := range uris {
			a, err := c.get(ctx, l, &struct{}{})
			if err != nil {
				unread.add(l, err)
				continue
			}
			if attrs, _ := attributes(a.body); attrs["Lockdown.1.SystemLockdown"] == "Enabled" {
				found = append(found, Obstacle{
					Kind: LockedDown, What: "System Lockdown is on", Do: "set Lockdown.1.SystemLockdown to Disabled in iDRAC",
					Stops: []string{"bios", "boot", "firmware", "bmc-network"}, Source: string(l),
				})
			}
		}
	}
	if place, err := c.biosPlace(ctx); err == nil && place.settings != "" {
		if queue, err := c.dellQueue(ctx, place.settings); err == nil {
			found = append(found, c.waitingJobs(ctx, queue)...)
		}
	}
	return found
}

// discardJobs bounds the BIOS jobs that wait at once; one is usual.
const discardJobs = 10

// discard deletes the BIOS jobs that wait, then what they would have set (BIOS011:
// with a job it cannot be deleted).
func (dell) discard(ctx context.Context, c *Client, place biosPlace) error {
	queue, err := c.dellQueue(ctx, place.settings)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		job, found := c.dellScheduled(ctx, queue)
		if !found {
			break
		}
		if n == discardJobs {
			return fmt.Errorf("BMC %s: job %s still waits after %d were deleted: delete it in iDRAC", c.cfg.Addr, link(job).id(), n)
		}
		if err := c.deleteJob(ctx, job); err != nil {
			return err
		}
		if err := pause(ctx, c.cfg.Poll); err != nil {
			return fmt.Errorf("BMC %s: %w", c.cfg.Addr, err)
		}
	}
	var doc struct {
		Actions maybe[struct {
			Oem map[string]maybe[actionDoc] `json:"Oem"`
		}] `json:"Actions"`
	}
	if _, err := c.get(ctx, place.settings, &doc); err != nil {
		return err
	}
	for name, action := range doc.Actions.value.Oem {
		if strings.HasSuffix(name, "ClearPending") && action.value.Target != "" {
			_, err = c.t.act(ctx, call{method: http.MethodPost, uri: string(action.value.Target), body: struct{}{}})
			if said(err, nothingThere) {
				return nil
			}
			return err
		}
	}
	return fmt.Errorf("BMC %s: %w: no ClearPending", c.cfg.Addr, ErrUnsupported)
}

// showsEarly: see biosPlace.waits.
func (dell) showsEarly() bool { return true }

// licences are the iDRAC's own (R750, 6.00.30: there is no LicenseService).
func (d dell) licences(ctx context.Context, k *card) ([]string, link, error) {
	var ext struct {
		Licences link `json:"DellLicenseCollection"`
	}
	if k.licenceOf(managerLinks, "Dell", &ext, func() bool { return ext.Licences != "" }) == "" {
		return d.base.licences(ctx, k)
	}
	return licenceNames(ctx, k.c, ext.Licences, func(l licenceDoc) string { return firstOf(strings.Join(l.Words, ", "), l.ID.clean()) })
}

func (dell) ways() []way {
	return []way{
		{"boot URI", "HttpDev1Uri", seen, documented, "captured tree dell (R750, iDRAC9 6.00.30); libredfish #74, #75"},
		{"BMC socket", "NIC.1.Selection", seen, documented, "captured tree dell; setting it: iDRAC-Redfish-Scripting, SetIdracLcSystemAttributesREDFISH"},
		{"lockdown", "Lockdown.1.SystemLockdown", seen, "", "captured tree dell; refusals by its registry (SYS406)"},
		{"licence", "LicenseDescription", seen, "", "captured tree dell"},
	}
}
