package redfish

import (
	"errors"
	"fmt"

	"github.com/bougou/go-ipmi/pkg/crypto"
	"github.com/bougou/go-ipmi/pkg/rmcpplus"
	"github.com/bougou/go-ipmi/pkg/types"
)

// errIPMILogin says that user or password are wrong.
var errIPMILogin = errors.New("user or password refused")

// rakp is one handshake. Each side proves to the other that it knows the password,
// without sending it.
type rakp struct {
	suite         ipmiSuite
	user          string
	kuid          []byte // the password, padded
	local, remote uint32
	role          uint8
	random        [16]byte // ours
	theirs        [16]byte
	guid          [16]byte
	keys          *ipmiKeys
	sik           []byte
}

// unpackSetup reads an answer of the handshake, or the status in its second byte
// that says no. ipmi_sim 2.0.33 sends nothing behind that status.
func unpackSetup(b []byte, into interface{ Unpack([]byte) error }) error {
	if len(b) >= 2 && b[1] != 0 {
		return types.NewRmcpStatusError(types.RmcpStatusCode(b[1]))
	}
	return into.Unpack(b)
}

func (h *rakp) openRequest() []byte {
	req := rmcpplus.OpenSessionRequest{RemoteConsoleSessionID: h.local} // privilege 0: the highest that fits
	req.AuthenticationPayload, req.IntegrityPayload, req.ConfidentialityPayload = rmcpplus.NewAlgorithmPayloads(h.suite.auth, h.suite.integrity, types.CryptAlg_AES_CBC_128)
	return req.Pack()
}

// opened takes the answer only with exactly the algorithms that were asked for.
func (h *rakp) opened(b []byte) error {
	var res rmcpplus.OpenSessionResponse
	if err := unpackSetup(b, &res); err != nil {
		return err
	}
	if res.RemoteConsoleSessionID != h.local || res.ManagedSystemSessionID == 0 {
		return errors.New("answer of another session")
	}
	if types.AuthAlg(res.AuthAlg) != h.suite.auth || types.IntegrityAlg(res.IntegrityAlg) != h.suite.integrity || types.CryptAlg(res.CryptAlg) != types.CryptAlg_AES_CBC_128 {
		return types.NewRmcpStatusError(types.RmcpStatusCodeNoCipherSuiteMatch)
	}
	h.remote = res.ManagedSystemSessionID
	return nil
}

func (h *rakp) message1(level types.PrivilegeLevel) []byte {
	m := rmcpplus.RAKPMessage1{
		ManagedSystemSessionID: h.remote, RemoteConsoleRandomNumber: h.random, NameOnlyLookup: true,
		RequestedMaximumPrivilegeLevel: level, UsernameLength: uint8(len(h.user)), Username: []byte(h.user),
	}
	h.role = m.Role()
	return m.Pack()
}

// message2 holds the BMC's proof.
func (h *rakp) message2(b []byte) error {
	m := rmcpplus.RAKPMessage2{AuthAlg: h.suite.auth}
	if err := unpackSetup(b, &m); err != nil {
		return err
	}
	h.theirs, h.guid = m.ManagedSystemRandomNumber, m.ManagedSystemGUID
	want, err := crypto.RAKP2AuthCode(h.suite.auth, h.local, h.remote, h.random[:], h.theirs[:], h.guid[:], h.role, h.user, h.kuid)
	if err != nil {
		return err
	}
	if !crypto.Equal(want, m.KeyExchangeAuthenticationCode) {
		return errIPMILogin
	}
	return nil
}

// message3 is our proof.
func (h *rakp) message3() ([]byte, error) {
	code, err := crypto.RAKP3AuthCode(h.suite.auth, h.theirs[:], h.local, h.role, h.user, h.kuid)
	if err != nil {
		return nil, err
	}
	sik, k1, k2, err := crypto.DeriveSessionKeys(h.suite.auth, h.random[:], h.theirs[:], h.role, h.user, h.kuid)
	if err != nil {
		return nil, err
	}
	h.sik, h.keys = sik, &ipmiKeys{suite: h.suite, k1: k1, k2: k2}
	return (&rmcpplus.RAKPMessage3{ManagedSystemSessionID: h.remote, KeyExchangeAuthenticationCode: code}).Pack(), nil
}

// message4 tells whether both sides have the same keys.
func (h *rakp) message4(b []byte) error {
	m := rmcpplus.RAKPMessage4{AuthAlg: h.suite.auth}
	if err := unpackSetup(b, &m); err != nil {
		return err
	}
	want, err := crypto.RAKP4ICV(h.suite.auth, h.random[:], h.remote, h.guid[:], h.sik)
	if err != nil {
		return err
	}
	if !crypto.Equal(want, m.IntegrityCheckValue) {
		return fmt.Errorf("%w: it wants a BMC key (K_g) beside the password; clear that key", ErrUnsupported)
	}
	return nil
}
