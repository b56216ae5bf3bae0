package burnin

import (
	"regexp"
	"slices"
	"strings"
)

// junkIdentity are what firmware prints where nobody wrote a serial number. Seen in
// the captured trees and tables: AMI, Gigabyte, QuantaGrid, Supermicro X10, DGX.
var junkIdentity = []string{
	"none", "n/a", "na", "null", "nil", "unknown", "undefined", "unspecified", "invalid", "empty", "blank",
	"not specified", "not available", "not applicable", "not provided", "not present", "not set",
	"no dimm", "no module installed", "no asset tag", "no asset information", "free form asset tag", "<out of spec>", "<bad index>",
	"default", "default string", "default value", "oem", "o.e.m.", "oem default string",
	"serial", "serial number", "system serial number", "system product name", "system manufacturer", "system version",
	"chassis serial number", "chassis manufacturer", "base board serial number", "board serial number", "asset tag",
	"sku", "model", "type1productconfigid", "system sku", "to be filled by oem",
}

// countedUp is a serial that somebody typed by running a finger along the keys.
const countedUp = "01234567890123456789012345678901234567890123456789"

// plainIdentity trims what firmware prints and blanks what identifies nothing.
func plainIdentity(s string) string {
	s = strings.TrimSpace(s)
	low := strings.ToLower(s)
	switch {
	case s == "", slices.Contains(junkIdentity, low):
		return ""
	case strings.Contains(low, "filled by"), strings.Contains(low, "default string"):
		return ""
	case strings.Trim(low, low[:1]) == "" && len(low) > 1 || low == "0" || low == "-" || low == ".": // 0000, xxxx, ----
		return ""
	case strings.Trim(low, " -_.:0") == "":
		return ""
	case isCountedUp(strings.TrimRight(low, "abcdef")):
		return ""
	}
	return s
}

func isCountedUp(s string) bool {
	return len(s) >= 6 && (strings.HasPrefix(countedUp, s) || strings.HasPrefix(countedUp[1:], s))
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// junkUUID are identities that boards of several makers share: AMI's example and
// the two ways in which its bytes are read.
var junkUUID = []string{
	"03000200-0400-0500-0006-000700080009", "00020003-0004-0005-0006-000700080009",
	"12345678-1234-5678-90ab-cddeefaabbcc", "fefefefe-fefe-fefe-fefe-fefefefefefe",
}

// plainUUID brings a UUID to lower case and blanks one that identifies nothing.
func plainUUID(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if !uuidForm.MatchString(s) || slices.Contains(junkUUID, s) {
		return ""
	}
	if digits := strings.ReplaceAll(s, "-", ""); strings.Trim(digits, digits[:1]) == "" {
		return "" // all zeros or all ones
	}
	return s
}

// swappedUUID turns the first three groups of a UUID round: SMBIOS before 2.6 and
// some BMCs store them big-endian, others little-endian.
func swappedUUID(s string) string {
	if !uuidForm.MatchString(s) {
		return s
	}
	turn := func(hex string) string {
		var b strings.Builder
		for i := len(hex) - 2; i >= 0; i -= 2 {
			b.WriteString(hex[i : i+2])
		}
		return b.String()
	}
	return turn(s[0:8]) + "-" + turn(s[9:13]) + "-" + turn(s[14:18]) + s[18:]
}

// backwardsUUID turns all bytes round: so some BMCs send it over IPMI, as IPMI 2.0
// (20.8) has it.
func backwardsUUID(s string) string {
	if !uuidForm.MatchString(s) {
		return s
	}
	var b strings.Builder
	for hex := strings.ReplaceAll(s, "-", ""); hex != ""; hex = hex[:len(hex)-2] {
		switch b.Len() {
		case 8, 13, 18, 23:
			b.WriteByte('-')
		}
		b.WriteString(hex[len(hex)-2:])
	}
	return b.String()
}

// sameUUID compares in every order in which the bytes are known to come.
func sameUUID(a, b string) bool {
	a, b = plainUUID(a), plainUUID(b)
	return a != "" && (a == b || a == swappedUUID(b) || a == backwardsUUID(b) || a == backwardsUUID(swappedUUID(b)) || b == backwardsUUID(swappedUUID(a)))
}

// macSeparators brings the ways to separate the bytes of a MAC to one.
var macSeparators = strings.NewReplacer("-", ":", ".", "")

// plainMAC brings a MAC to aa:bb:cc:dd:ee:ff, and blanks one that is none, or is
// all zeros or all ones.
func plainMAC(s string) string {
	s = macSeparators.Replace(strings.ToLower(strings.TrimSpace(s)))
	if hex := strings.ReplaceAll(s, ":", ""); len(hex) == 12 && strings.Trim(hex, "0123456789abcdef") == "" {
		if strings.Trim(hex, "0") == "" || strings.Trim(hex, "f") == "" {
			return ""
		}
		parts := make([]string, 0, 6)
		for ; len(hex) > 0; hex = hex[2:] {
			parts = append(parts, hex[:2])
		}
		return strings.Join(parts, ":")
	}
	return ""
}

// identityMember is one identifying number and what it is.
type identityMember struct{ name, value string }

// serials are the members of an identity that a sticker may show.
func (i *Identity) serials() []identityMember {
	all := []identityMember{
		{"system serial", i.SystemSerial},
		{"service tag", i.ServiceTag},
		{"chassis serial", i.ChassisSerial},
		{"board serial", i.BoardSerial},
		{"SKU", i.SKU},
	}
	return slices.DeleteFunc(all, func(m identityMember) bool { return m.value == "" })
}

// matchSerial returns the member that equals a serial, without regard to case.
func (i *Identity) matchSerial(serial string) (member string, ok bool) {
	for _, m := range i.serials() {
		if strings.EqualFold(m.value, strings.TrimSpace(serial)) {
			return m.name, true
		}
	}
	return "", false
}
