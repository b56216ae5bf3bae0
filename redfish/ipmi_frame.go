package redfish

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bougou/go-ipmi/pkg/crypto"
	"github.com/bougou/go-ipmi/pkg/types"
)

// ipmiSuite is a cipher suite: authentication, integrity, and always AES-CBC-128.
type ipmiSuite struct {
	id        types.CipherSuiteID
	auth      types.AuthAlg
	integrity types.IntegrityAlg
}

// ipmiSuites are those that are offered, best first. None below 3: suites 0 to 2
// and 15 to 16 leave out authentication, integrity or encryption.
var ipmiSuites = []ipmiSuite{
	{types.CipherSuiteID17, types.AuthAlg_HMAC_SHA256, types.IntegrityAlg_HMAC_SHA256_128},
	{types.CipherSuiteID3, types.AuthAlg_HMAC_SHA1, types.IntegrityAlg_HMAC_SHA1_96},
}

// ipmiKeys are the keys of one session.
type ipmiKeys struct {
	suite  ipmiSuite
	k1, k2 []byte
}

// Datagrams of RMCP+ (IPMI 2.0, table 13-8): four bytes of RMCP, twelve of session
// header, the payload and, inside a session, padding and an authentication code.
const (
	rmcpBytes     = 4
	sessionBytes  = rmcpBytes + types.SessionHeader20SizeMin
	trailerBytes  = 2    // length of the padding, next header
	nextHeader    = 0x07 // fixed by the specification
	rmcpClassIPMI = types.MessageClassIPMI
)

// ipmiFrame is one datagram, opened.
type ipmiFrame struct {
	kind     types.PayloadType
	session  uint32
	sequence uint32
	payload  []byte
}

var errFrame = errors.New("no IPMI datagram of this session")

// packFrame writes a datagram outside of any session.
func packFrame(kind types.PayloadType, payload []byte) []byte {
	header := types.SessionHeader20{AuthType: types.AuthTypeRMCPPlus, PayloadType: kind, PayloadLength: uint16(len(payload))}
	return append(append(types.NewRmcpHeader().Pack(), header.Pack()...), payload...)
}

// seal encrypts and signs a payload.
func (k *ipmiKeys) seal(kind types.PayloadType, session, sequence uint32, payload []byte) ([]byte, error) {
	secret, err := crypto.EncryptAESPayload(payload, k.k2, crypto.RandomBytes(16))
	if err != nil {
		return nil, err
	}
	header := types.SessionHeader20{
		AuthType: types.AuthTypeRMCPPlus, PayloadType: kind, PayloadEncrypted: true, PayloadAuthenticated: true,
		SessionID: session, Sequence: sequence, PayloadLength: uint16(len(secret)),
	}
	signed := append(header.Pack(), secret...)
	pad := types.IntegrityPadLen(len(signed), 0)
	for range pad {
		signed = append(signed, 0xff)
	}
	signed = append(signed, byte(pad), nextHeader)
	code, err := crypto.SessionIntegrityAuthCode(k.suite.integrity, signed, k.k1, "")
	if err != nil {
		return nil, err
	}
	return append(append(types.NewRmcpHeader().Pack(), signed...), code...), nil
}

// parseFrame takes a datagram apart as far as that goes without keys.
func parseFrame(b []byte) (f ipmiFrame, sealed bool, err error) {
	if len(b) < sessionBytes || b[0] != types.RmcpVersion || b[3]&0x1f != rmcpClassIPMI || b[4] != byte(types.AuthTypeRMCPPlus) {
		return f, false, errFrame
	}
	var header types.SessionHeader20
	if err := header.Unpack(b[rmcpBytes:]); err != nil || header.PayloadType == types.PayloadTypeOEM {
		return f, false, errFrame
	}
	if len(b) < sessionBytes+int(header.PayloadLength) {
		return f, false, fmt.Errorf("%w: cut short", errFrame)
	}
	f = ipmiFrame{
		kind: header.PayloadType, session: header.SessionID, sequence: header.Sequence,
		payload: b[sessionBytes : sessionBytes+int(header.PayloadLength)],
	}
	return f, header.PayloadEncrypted || header.PayloadAuthenticated, nil
}

// open checks the signature of a datagram and decrypts it. Whatever is not signed
// with the keys of the session is refused: over UDP anybody can send.
func (k *ipmiKeys) open(b []byte) (ipmiFrame, error) {
	f, sealed, err := parseFrame(b)
	if err != nil {
		return f, err
	}
	size, known := crypto.IntegrityAuthCodeLen(k.suite.integrity)
	if !sealed || !known || len(b) < sessionBytes+len(f.payload)+trailerBytes+size {
		return f, fmt.Errorf("%w: not signed", errFrame)
	}
	signed, code := b[rmcpBytes:len(b)-size], b[len(b)-size:]
	want, err := crypto.SessionIntegrityAuthCode(k.suite.integrity, signed, k.k1, "")
	if err != nil || !crypto.Equal(want, code) {
		return f, fmt.Errorf("%w: signature is wrong", errFrame)
	}
	const block = 16
	if encrypted := b[5]&types.PayloadFlagEncrypted != 0; !encrypted {
		if f.kind == types.PayloadTypeSOL { // some BMCs sign the console and send it in the clear
			return f, nil
		}
		return f, fmt.Errorf("%w: not encrypted", errFrame)
	}
	if len(f.payload) < 2*block || len(f.payload)%block != 0 {
		return f, fmt.Errorf("%w: no whole blocks", errFrame)
	}
	f.payload, err = crypto.DecryptAESPayload(f.payload, k.k2)
	if err != nil {
		return f, fmt.Errorf("%w: %w", errFrame, err)
	}
	return f, nil
}

// checksum makes the sum of b and itself zero, as IPMB messages, SDRs and FRU
// areas have it.
func checksum(b []byte) byte {
	var sum byte
	for _, v := range b {
		sum += v
	}
	return -sum
}

// le16 reads a number with its low byte first.
func le16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
