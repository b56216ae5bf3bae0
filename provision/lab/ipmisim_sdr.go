package lab

import "encoding/binary"

// SDR types and constants (IPMI 2.0 chapter 43).
const (
	sdrVersion  = 0x51
	sdrFull     = 0x01
	sdrCompact  = 0x02
	bmcAddress  = 0x20
	unitCelsius = 1
	unitRPM     = 18

	sdrInitialized   = 0x7f // scanning, events, thresholds, hysteresis, type on; events and scanning enabled
	sdrThresholds    = 0x68 // auto re-arm, thresholds readable and settable, event per threshold
	sdrStates        = 0x40 // auto re-arm, event per state
	stateInitialized = 0x63
)

// sdr is the sensor's data record.
func (s sensor) sdr() []byte {
	if s.discrete() {
		return s.compactSDR()
	}
	return s.fullSDR()
}

// head begins both records: key, entity and event type.
func (s sensor) head(initialized, capabilities, event byte) []byte {
	return []byte{bmcAddress, 0, s.number, s.entity, s.instance, initialized, capabilities, s.sensorType(), event}
}

// fullSDR tells thresholds and how a value becomes a reading: value × factor.
func (s sensor) fullSDR() []byte {
	unit := byte(unitCelsius)
	if s.kind == fanSpeed {
		unit = unitRPM
	}
	var crossings, readable uint16
	for _, t := range s.thresholds() {
		crossings |= 1 << t.offset
		readable |= s.readable(t)
	}
	b := s.head(sdrInitialized, sdrThresholds, eventThreshold)
	for _, mask := range []uint16{crossings, crossings, readable<<8 | readable} {
		b = binary.LittleEndian.AppendUint16(b, mask)
	}
	b = append(b,
		0x00, unit, 0x00, // unsigned, base unit, no modifier
		0x00, byte(s.factor), 0x00, 0x00, 0x00, 0x00, 0x00, // linear; M, B, exponents 0
		0x07, s.healthy, 0xff, 0x00, 0xff, 0x00) // nominal and normal range are told
	limits := s.fromTheTop()
	b = append(b, limits[:]...)
	b = append(b, 0, 0, 0, 0, 0) // hysteresis, reserved, OEM
	return sdrRecord(sdrFull, b, s.name)
}

// readable is the bit of a threshold in the masks of what can be read and set:
// lower non-critical is bit 0, upper non-recoverable bit 5.
func (s sensor) readable(t threshold) uint16 {
	if t.low {
		return 1 << (t.offset / 2)
	}
	return 1 << ((t.offset - 1) / 2)
}

// compactSDR is that of a sensor with states.
func (s sensor) compactSDR() []byte {
	b := s.head(stateInitialized, sdrStates, eventSpecific)
	var states uint16
	for bit := range stateNames[s.kind] {
		states |= 1 << bit
	}
	for range 3 {
		b = binary.LittleEndian.AppendUint16(b, states)
	}
	return sdrRecord(sdrCompact, append(b, 0xc0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0), s.name)
}

// sdrRecord puts the record's header before the body and the name behind it.
func sdrRecord(kind byte, body []byte, name string) []byte {
	const longest = 16
	name = name[:min(len(name), longest)]
	body = append(body, 0xc0|byte(len(name))) // 8-bit ASCII
	body = append(body, name...)
	return append([]byte{0, 0, sdrVersion, kind, byte(len(body))}, body...) // ipmi_sim gives the record its id
}
