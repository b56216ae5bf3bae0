package redfish

// way is something that a maker's BMCs have in their own form, and on what it stands:
// docs/vendors.md is written from these. What a maker has no way for is the standard's,
// or is not there.
type way struct {
	what string   // as docs/vendors.md names it
	name string   // of the property, action or attribute, as the BMC spells it
	read standing // that a machine has it
	sets standing // that it does what it says; "" where it is only read
	from string   // machine, firmware and document
}

func (base) ways() []way { return nil }
