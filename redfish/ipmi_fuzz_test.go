package redfish

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/bougou/go-ipmi/pkg/types"
)

var testKeys = []*ipmiKeys{
	{suite: ipmiSuites[0], k1: bytes.Repeat([]byte{1}, 32), k2: bytes.Repeat([]byte{2}, 32)},
	{suite: ipmiSuites[1], k1: bytes.Repeat([]byte{1}, 20), k2: bytes.Repeat([]byte{2}, 20)},
}

// What was sealed opens again to the same, and with one bit turned it does not open.
func TestIPMISeal(t *testing.T) {
	for _, keys := range testKeys {
		for size := range 64 {
			payload := bytes.Repeat([]byte{0xa5}, size)
			sealed, err := keys.seal(types.PayloadTypeIPMI, 7, 9, payload)
			if err != nil {
				t.Fatal(err)
			}
			f, err := keys.open(sealed)
			if err != nil || f.session != 7 || f.sequence != 9 || f.kind != types.PayloadTypeIPMI || !bytes.Equal(f.payload, payload) {
				t.Fatalf("suite %d, %d bytes: opened %+v, %v", keys.suite.id, size, f, err)
			}
			if bytes.Contains(sealed, payload) && size > 4 {
				t.Errorf("suite %d: %d bytes stand in the clear", keys.suite.id, size)
			}
			for bit := range 8 * len(sealed) {
				forged := bytes.Clone(sealed)
				forged[bit/8] ^= 1 << (bit % 8)
				if f, err := keys.open(forged); err == nil && bit/8 >= rmcpBytes { // RMCP's own header is not signed
					t.Fatalf("suite %d: bit %d turned, and it opens to %+v", keys.suite.id, bit, f)
				}
			}
		}
	}
}

func FuzzIPMIFrame(f *testing.F) {
	for _, keys := range testKeys {
		sealed, err := keys.seal(types.PayloadTypeSOL, 1, 2, []byte("login: "))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(sealed)
	}
	f.Add(packFrame(types.PayloadTypeRmcpOpenSessionResponse, make([]byte, 36)))
	f.Add([]byte{6, 0, 0xff, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0x81, 0x1c, 0x63, 0x20, 0, 0x38, 0, 0x25})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, keys := range testKeys {
			if frame, err := keys.open(b); err != nil && !errors.Is(err, errFrame) {
				t.Errorf("%v is no errFrame: %+v", err, frame)
			}
		}
		_, _ = parseProbe(b)
		_, _ = parseAnswer(b)
		h := rakp{suite: ipmiSuites[0], kuid: make([]byte, 20), keys: testKeys[0]}
		for _, step := range []func([]byte) error{h.opened, h.message2, h.message4} {
			if step(b) == nil && len(b) < 24 {
				t.Error("a short answer is taken for a proof")
			}
		}
		var tr solTranscript
		var p types.SOLPayloadPacket
		if p.Unpack(b) == nil {
			for range 2 {
				if text, ack, _ := tr.take(p); len(text) > 0 && ack == nil {
					t.Error("text that is not acknowledged")
				}
			}
		}
	})
}

func FuzzIPMIFRU(f *testing.F) {
	f.Add([]byte{1, 3, 0x17, 0xca, 'C', 'H', 'A', 'S', 'S', 'I', 'S', '-', 'P', 'N', 0xc7, 'C', 'H', '0', '0', '0', '0', '1', 0xc1, 0x3e})
	f.Add([]byte{1, 2, 0, 0x83, 0x29, 0xdc, 0xa6, 0x42, 0x12, 0x34, 0xc1, 0, 0, 0, 0, 0})
	f.Add([]byte{1, 0, 1, 4, 10, 0, 0, 0xf0})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = parseFRUHeader(b)
		for _, layout := range []fruLayout{chassisArea, boardArea, productArea} {
			a, err := parseFRUArea(b, layout)
			if a == nil && err == nil {
				t.Error("neither an area nor a remark")
			}
			for i := range 8 {
				if s := a.field(i); strings.ContainsAny(s, "\x00\n\x1b") || s != strings.TrimSpace(s) {
					t.Errorf("field %q", s)
				}
			}
		}
	})
}

func FuzzIPMISDR(f *testing.F) {
	full := make([]byte, 60)
	copy(full, []byte{1, 0, 0x51, 1, 55, 0x20, 0, 1, 3, 1, 0x7f, 0x68, 1, 1})
	f.Add(full, byte(97), []byte{1, 0})
	f.Add([]byte{1, 0, 0x51, 0x11, 11, 0x20, 1, 0x80, 0, 0, 0x10, 0, 10, 1, 0, 0xc0}, byte(0), []byte{})
	f.Fuzz(func(t *testing.T, b []byte, raw byte, event []byte) {
		s, err := parseSDR(b)
		if err != nil {
			return
		}
		if v := s.convert(raw, s.factors); v != nil && *v != *v {
			t.Error("a figure that is none")
		}
		_, _, _ = s.measures(), s.unitWord(), s.states([]uint8{0, 7, 14})
		_ = s.label(int(raw))
		if len(event) >= selBytes {
			if e := parseSEL(event[:selBytes], []sdr{s}); e.Event == "" || len(e.Raw) != 2*selBytes {
				t.Errorf("entry %+v", e)
			}
		}
		_, _ = parseBootFlags(b)
		_ = guidText(b)
	})
}

// What ipmitool 1.8.19 says of its trouble, and what becomes of it.
func TestIPMIToolFailure(t *testing.T) {
	tool := &ipmiTool{cfg: Config{Addr: "10.0.12.7:623", Password: "secret-word"}}
	for _, c := range []struct {
		said string
		is   error
		code uint8
	}{
		{"Loading IANA PEN Registry...\n> RAKP 2 HMAC is invalid\nError: Unable to establish IPMI v2 / RMCP+ session", errIPMILogin, 0},
		{"RAKP 2 message indicates an error : unauthorized name\nError: Unable to establish IPMI v2 / RMCP+ session", errIPMILogin, 0},
		{"Error in open session response message : invalid authentication algorithm\n", errIPMISuite, 0},
		{"Error in open session response message : no matching cipher suite", errIPMISuite, 0},
		{"RAKP 2 message indicates an error : unauthorized role or privilege level requested", errIPMIPrivilege, 0},
		{"Error in open session response message : insufficient resources for session", ErrSessionLimit, 0},
		{"Get Auth Capabilities error\nError: Unable to establish IPMI v2 / RMCP+ session", ErrUnreachable, 0},
		{"", ErrUnreachable, 0},
		{"Unable to send RAW command (channel=0x0 netfn=0x6 lun=0x0 cmd=0x99 rsp=0xc1): Invalid command", nil, 0xc1},
	} {
		err := tool.failure(ipmiCommand{name: "Get Device ID"}, c.said)
		if c.is != nil && !errors.Is(err, c.is) || codeOf(err) != c.code {
			t.Errorf("%q gives %v, wanted %v, code 0x%02x", c.said, err, c.is, c.code)
		}
	}
	if err := tool.failure(ipmiCommand{}, "said secret-word aloud"); strings.Contains(err.Error(), "secret-word") {
		t.Errorf("the password stands in %v", err)
	}
}
