package lab

import "time"

// fru is what the machine's EEPROM holds: chassis, board and product area
// (IPMI Platform Management FRU Information Storage Definition 1.0).
func (s Spec) fru() []byte {
	const (
		rackMount = 23
		english   = 0
	)
	minutes := uint32(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).Sub(time.Date(1996, 1, 1, 0, 0, 0, 0, time.UTC)) / time.Minute)
	made := []byte{byte(minutes), byte(minutes >> 8), byte(minutes >> 16)}
	chassis := fruArea([]byte{rackMount}, "CHASSIS-PN", s.ChassisSerial())
	board := fruArea(append([]byte{english}, made...), Manufacturer, BoardProduct, s.BoardSerial(), "MB-PN-1", "")
	product := fruArea([]byte{english}, Manufacturer, Product, SKU, "1.0", s.Serial(), s.AssetTag(), "")
	const unit = 8 // offsets and lengths count in these
	first := 1
	second := first + len(chassis)/unit
	third := second + len(board)/unit
	header := []byte{1, 0, byte(first), byte(second), byte(third), 0, 0}
	out := append(header, checksum(header))
	out = append(out, chassis...)
	out = append(out, board...)
	return append(out, product...)
}

// fruArea is one area: version, length, what the kind of area begins with, the
// fields, filled up to a multiple of eight with the checksum last.
func fruArea(head []byte, fields ...string) []byte {
	const endOfFields = 0xc1
	b := append([]byte{1, 0}, head...)
	for _, f := range fields {
		b = append(b, 0xc0|byte(len(f))) // 8-bit ASCII
		b = append(b, f...)
	}
	b = append(b, endOfFields)
	for len(b)%8 != 7 {
		b = append(b, 0)
	}
	b[1] = byte((len(b) + 1) / 8)
	return append(b, checksum(b))
}

// checksum makes the sum of all bytes zero.
func checksum(b []byte) byte {
	sum := byte(0)
	for _, x := range b {
		sum += x
	}
	return -sum
}
