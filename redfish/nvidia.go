package redfish

import (
	"context"
	"strings"
)

// nvidia is the DGX with AMI firmware. Fixture: DGX H100, BMC 23.11.20, BIOS
// 1.1.3. Its GPUs are on Systems/HGX_Baseboard_0 and labelled SXM1 to SXM8,
// which the base reads; boot overrides and BIOS values go to settings objects,
// which the base follows by link.
type nvidia struct{ base }

// identify: the CPU baseboard and its serial are a chassis of their own, which
// the chassis DGX contains. What System shows as its serial is this one.
func (nvidia) identify(ctx context.Context, c *Client, _ systemDoc, chassis []*chassisDoc, id *Identity) {
	for _, ch := range chassis {
		if ch == nil {
			continue
		}
		for _, l := range ch.Links.value.Contains {
			if !strings.Contains(l.id(), "CPUBaseboard") {
				continue
			}
			for _, board := range each[chassisDoc](ctx, c, links{l}, &gaps{}) {
				if board != nil {
					id.BoardSerial = firstOf(id.BoardSerial, board.SerialNumber.clean())
				}
			}
		}
	}
}

// intents: names and values of the DGX H100's registry 113.1.1.3. It has no
// attribute for above-4g, boot mode, ACS and ASPM. SR-IOV stands in two menus.
func (nvidia) intents() []intentRule {
	return []intentRule{
		{intent: "smt", value: "on", attribute: "ProcessorHyperThreadingDisable", set: "Enabled"},
		{intent: "smt", value: "off", attribute: "ProcessorHyperThreadingDisable", set: "Disabled"},
		{intent: "iommu", value: "on", attribute: "VTdSupport", set: "Enable"},
		{intent: "iommu", value: "off", attribute: "VTdSupport", set: "Disable"},
		{intent: "sriov", value: "on", attribute: "SriovSupport", set: "Enabled"},
		{intent: "sriov", value: "on", attribute: "SRIOVEnable", set: "Enable"},
		{intent: "sriov", value: "off", attribute: "SriovSupport", set: "Disabled"},
		{intent: "sriov", value: "off", attribute: "SRIOVEnable", set: "Disable"},
	}
}
