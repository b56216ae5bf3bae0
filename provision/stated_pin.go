package provision

// statedPin is the certificate that a batch states for a BMC, as `discover` found it.
// It counts at the first visit: from then on what was kept for the address does, which
// follows the BMC's updates, and what a person had forgotten.
type statedPin struct {
	*KnownBMCs
	sha256 string
}

// Pin implements redfish.PinStore.
func (s statedPin) Pin(key string) (string, bool) {
	if s.last(func(b KnownBMC) bool { return b.Addr == key }) == (KnownBMC{}) {
		return s.sha256, true
	}
	return s.KnownBMCs.Pin(key)
}
