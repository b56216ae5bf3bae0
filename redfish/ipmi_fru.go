package redfish

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/bougou/go-ipmi/pkg/types"
)

// fruArea is one area of a FRU inventory: the fields in their fixed order, then
// those that the maker added.
type fruArea struct {
	language byte // English is 0 or 25
	fields   []string
}

// fruInfo is what a FRU inventory says. Each area stands for itself: one that
// cannot be read is nil and a remark, and costs nothing else.
type fruInfo struct {
	chassis, board, product *fruArea
	remarks                 []string
}

// Places of fields (Platform Management FRU Information Storage 1.0, 10 to 12).
const (
	chassisPart, chassisSerial                       = 0, 1
	boardMaker, boardProduct, boardSerial, boardPart = 0, 1, 2, 3
	productMaker, productName, productPart           = 0, 1, 2
	productSerial, productAsset                      = 4, 5
)

// fruLayout is how an area is built.
type fruLayout struct {
	first int // byte of the first field
	fixed int // fields that are always there
}

var (
	chassisArea = fruLayout{first: 3, fixed: 2}
	boardArea   = fruLayout{first: 6, fixed: 5}
	productArea = fruLayout{first: 3, fixed: 7}
)

// field gives a field without junk, "" where the area or the field is not there.
func (a *fruArea) field(i int) string {
	if a == nil || i >= len(a.fields) {
		return ""
	}
	return text(strings.Map(printable, a.fields[i])).clean()
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == 0xfffd {
		return ' '
	}
	return r
}

const fruHeaderBytes = 8

// fruHeader gives where the areas begin, 0 for none.
type fruHeader struct {
	chassis, board, product int
	remark                  string
}

// parseFRUHeader reads the common header. A wrong checksum is a remark, because the
// offsets are looked at one by one; an unknown version is an error.
func parseFRUHeader(b []byte) (fruHeader, error) {
	if len(b) < fruHeaderBytes {
		return fruHeader{}, errors.New("FRU header is cut short")
	}
	if b[0]&0x0f != types.FRUFormatVersion {
		return fruHeader{}, fmt.Errorf("FRU header version 0x%02x is not known", b[0])
	}
	h := fruHeader{chassis: 8 * int(b[2]), board: 8 * int(b[3]), product: 8 * int(b[4])}
	if checksum(b[:fruHeaderBytes]) != 0 {
		h.remark = "FRU header: checksum is wrong"
	}
	return h, nil
}

// parseFRUArea reads one area. The error is a remark where an area comes with it.
func parseFRUArea(b []byte, layout fruLayout) (*fruArea, error) {
	if len(b) <= layout.first {
		return nil, errors.New("cut short")
	}
	if b[0]&0x0f != types.FRUFormatVersion {
		return nil, fmt.Errorf("version 0x%02x is not known", b[0])
	}
	size := 8 * int(b[1])
	var remark error
	switch {
	case size == 0 || size > len(b):
		size, remark = len(b), errors.New("length is wrong")
	case checksum(b[:size]) != 0:
		remark = errors.New("checksum is wrong")
	}
	a := &fruArea{language: b[2]}
	// The end mark is also how one character is written, and some boards write a
	// space so where they have no name: it ends nothing before the fixed fields are
	// through. The last byte is the checksum.
	const end = 0xc1
	for at := layout.first; at < size-1 && (b[at] != end || len(a.fields) < layout.fixed); {
		n := int(b[at] & 0x3f)
		if at+1+n > size-1 {
			return a, errors.Join(remark, errors.New("last field is cut short"))
		}
		a.fields = append(a.fields, typedText(b[at], b[at+1:at+1+n], a.language))
		at += 1 + n
	}
	return a, remark
}

const (
	typeBinary = iota
	typeBCD
	typeSixBit
	typeEightBit
)

const bcdPlus = "0123456789 -.:,_"

// typedText decodes the bytes behind a type/length byte. In a language other than
// English (0 or 25) eight-bit text is UTF-16 with its low byte first.
func typedText(kind byte, b []byte, language byte) string {
	const english = 25
	switch kind >> 6 {
	case typeBinary:
		if plain := strings.Trim(string(b), "\x00 "); isASCII(plain) {
			return plain // some boards write their text with the type of bytes
		}
		return fmt.Sprintf("%x", b)
	case typeBCD:
		var out strings.Builder
		for _, v := range b {
			out.WriteByte(bcdPlus[v>>4])
			out.WriteByte(bcdPlus[v&0x0f])
		}
		return out.String()
	case typeSixBit:
		return sixBit(b)
	}
	if language != 0 && language != english && len(b)%2 == 0 {
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = le16(b[2*i:])
		}
		if s := string(utf16.Decode(units)); !isASCII(string(b)) {
			return s
		}
	}
	runes := make([]rune, len(b)) // Latin 1
	for i, v := range b {
		runes[i] = rune(v)
	}
	return string(runes)
}

// sixBit decodes packed ASCII: four characters in three bytes, lowest bits first.
func sixBit(b []byte) string {
	var out strings.Builder
	for bit := 0; bit+6 <= 8*len(b); bit += 6 {
		v := uint16(b[bit/8]) >> (bit % 8)
		if next := bit/8 + 1; next < len(b) {
			v |= uint16(b[next]) << (8 - bit%8)
		}
		out.WriteByte(byte(v&0x3f) + ' ')
	}
	return strings.TrimRight(out.String(), " ")
}

func isASCII(s string) bool {
	for _, r := range s {
		if r < ' ' || r > '~' {
			return false
		}
	}
	return true
}
