package provision

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// movable is a machine whose BMC stands on loopback and moves there.
type movable struct {
	*redfishtest.BMC
	bench Bench
	env   *Env
	rec   *memory
	log   bytes.Buffer
	port  string
}

const movableUUID = "00112233-4455-6677-8899-aabbccddeeff"

// movableTree is a BMC at 127.0.0.1 by DHCP.
func movableTree(uuid string) redfishtest.Tree {
	const s, m = "/redfish/v1/Systems/a", "/redfish/v1/Managers/a"
	return redfishtest.Tree{
		"/redfish/v1":          []byte(`{"Systems":{"@odata.id":"/redfish/v1/Systems"},"Managers":{"@odata.id":"/redfish/v1/Managers"},"Links":{"Sessions":{"@odata.id":"/redfish/v1/SessionService/Sessions"}}}`),
		"/redfish/v1/Systems":  []byte(`{"Members":[{"@odata.id":"` + s + `"}]}`),
		s:                      []byte(`{"Id":"a","UUID":"` + uuid + `","PowerState":"On","Actions":{"#ComputerSystem.Reset":{"target":"` + s + `/R"}},"Links":{"ManagedBy":[{"@odata.id":"` + m + `"}]}}`),
		"/redfish/v1/Managers": []byte(`{"Members":[{"@odata.id":"` + m + `"}]}`),
		m:                      []byte(`{"Id":"a","EthernetInterfaces":{"@odata.id":"` + m + `/E"}}`),
		m + "/E":               []byte(`{"Members":[{"@odata.id":"` + m + `/E/1"}]}`),
		m + "/E/1": []byte(`{"Id":"1","MACAddress":"7C:C2:55:00:00:07","LinkStatus":"LinkUp","HostName":"old","DHCPv4":{"DHCPEnabled":true},
			"IPv4Addresses":[{"Address":"127.0.0.1","SubnetMask":"255.0.0.0","AddressOrigin":"DHCP","Gateway":"0.0.0.0"}],
			"IPv4StaticAddresses":[],"NameServers":["192.0.2.53"],"StaticNameServers":[]}`),
	}
}

func serveBMC(t *testing.T, o redfishtest.Options) *redfishtest.BMC {
	t.Helper()
	o.User, o.Password = "root", planted
	bmc, err := redfishtest.Start(context.WithoutCancel(t.Context()), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bmc.Close() })
	return bmc
}

// newMovable has been verified, as the step finds it.
func newMovable(t *testing.T, want redfish.NetworkWish, o redfishtest.Options) *movable {
	t.Helper()
	t.Setenv("BMC_USER", "root")
	t.Setenv("BMC_PASSWORD", planted)
	o.Tree = movableTree(movableUUID)
	m := &movable{BMC: serveBMC(t, o)}
	_, m.port, _ = net.SplitHostPort(m.Addr())
	m.bench = Bench{State: t.TempDir(), Secrets: &Secrets{}, Log: slog.New(slog.NewTextHandler(&m.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	machine := Machine{
		BMC: m.Addr(), Network: &want, Poll: Duration(5 * time.Millisecond),
		Login: BMCLogin{User: "env:BMC_USER", Password: "env:BMC_PASSWORD", TLS: string(redfish.Pin)},
	}
	m.env, m.rec = stepEnv(t, newFakeBMC(), machine)
	m.env.Batch.Limits.Poll = machine.Poll
	m.env.open, m.env.known, m.env.Log = m.bench.openers(), OpenKnownBMCs(m.bench.State), m.bench.Log
	m.env.open.answers = func(ctx context.Context, m Machine) bool { // on loopback the computer refuses for nobody
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.BMC)
		return err == nil && conn.Close() == nil
	}
	t.Cleanup(func() { _ = m.env.Close() })
	if err := carryOut(t, verifyBMC{}, m.env); err != nil {
		t.Fatal(err)
	}
	return m
}

// address is a wish for another address on loopback.
func address(host string) redfish.NetworkWish {
	return redfish.NetworkWish{DHCP: new(bool), Address: netip.MustParsePrefix(host + "/8"), HostName: "r12u07-bmc"}
}

func (m *movable) at(host string) string { return net.JoinHostPort(host, m.port) }

// clean looks for sessions left open and for the password in what was written.
func (m *movable) clean(t *testing.T, err error) {
	t.Helper()
	if cerr := m.env.Close(); cerr != nil {
		t.Errorf("close: %v", cerr)
	}
	text := m.log.String()
	if err != nil {
		text += err.Error()
	}
	_ = filepath.WalkDir(m.bench.State, func(path string, _ os.DirEntry, _ error) error {
		b, _ := os.ReadFile(path)
		text += string(b)
		return nil
	})
	if strings.Contains(text, planted) {
		t.Error("the password stands in logs, errors or the state folder")
	}
}

// Somebody who refuses is there too.
func TestRefusedIsAnswered(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := Machine{BMC: l.Addr().String()}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if b := new(Bench); !b.answers(t.Context(), free) {
		t.Errorf("%s refuses, and is taken for free", free.BMC)
	}
}

// TestBMCMoves: one change, a session at the new address, the pin goes along, and every
// later step, attempt and run speaks to it there.
func TestBMCMoves(t *testing.T) {
	for _, fault := range []string{"", "lost-response=network.set*2"} {
		o := redfishtest.Options{}
		if fault != "" {
			o.Faults = []string{fault}
		}
		m := newMovable(t, address("127.0.0.2"), o)
		was, machine := m.Addr(), m.env.Machine
		changes, err := bmcNetwork{}.Plan(t.Context(), m.env)
		if err != nil || len(changes) != 3 || changes[0].What != "BMC host name" || changes[2].Want != "127.0.0.2/8" || m.Acts()["network.set"] != 0 {
			t.Errorf("plan %+v, %v", changes, err)
		}
		err = carryOut(t, bmcNetwork{}, m.env)
		if err != nil {
			t.Fatal(err)
		}
		if m.Addr() != m.at("127.0.0.2") || m.env.Machine.BMC != m.Addr() || m.Acts()["network.set"] != 2 {
			t.Errorf("%q: it is at %s, spoken to at %s, after %v", fault, m.Addr(), m.env.Machine.BMC, m.Acts())
		}
		if m.env.Facts[FactBMCAddr] != m.Addr() || m.env.Facts[FactBMCWas] != was {
			t.Errorf("facts %v", m.env.Facts)
		}
		if pin, ok := m.env.known.Pin(m.Addr()); !ok || pin != m.CertSHA256() {
			t.Errorf("at its new address %q is pinned", pin)
		}
		if pin, ok := m.env.known.Pin(was); ok {
			t.Errorf("its old address is still pinned to %s", pin)
		}
		if err := carryOut(t, bmcNetwork{}, m.env); err != nil || m.Acts()["network.set"] != 2 {
			t.Errorf("again: %v, %v", err, m.Acts())
		}
		for what, facts := range map[string]Facts{"later step": m.env.Facts, "new run": nil} {
			if now := m.bench.atBMC(machine, facts); now.BMC != m.Addr() {
				t.Errorf("a %s asks at %s", what, now.BMC)
			}
		}
		edited := machine
		edited.BMC = "192.0.2.7"
		if now := m.bench.atBMC(edited, m.env.Facts); now.BMC != "192.0.2.7" {
			t.Errorf("a batch with another bmc: is asked at %s", now.BMC)
		}
		m.clean(t, nil)
	}
}

// TestBMCNetworkNotAsked contacts nobody.
func TestBMCNetworkNotAsked(t *testing.T) {
	e, rec := stepEnv(t, newFakeBMC(), Machine{})
	e.open.bmc = func(context.Context, Machine) (BMC, error) {
		t.Error("the BMC was asked")
		return nil, errors.New("nobody")
	}
	changes, planErr := bmcNetwork{}.Plan(t.Context(), e)
	if err := errors.Join(carryOut(t, bmcNetwork{}, e), planErr); err != nil || len(changes)+len(rec.kinds) != 0 {
		t.Errorf("%v, planned %v, recorded %v", err, changes, rec.kinds)
	}
}

// TestBMCThatDoesNotMove ends STUCK, with the place where it was found and what to do.
func TestBMCThatDoesNotMove(t *testing.T) {
	vlan := 12
	for _, test := range []struct {
		name, fault string
		want        redfish.NetworkWish
		why, do     string
		anew        bool
		acts        int
	}{
		{
			name: "never comes up", fault: "network-gone", want: redfish.NetworkWish{DHCP: new(bool), Address: netip.MustParsePrefix("127.0.0.2/8")},
			why: "is not found since, at 127.0.0.2:", do: "switch port carries the network of 127.0.0.2/8", acts: 1,
		},
		{
			name: "stays as it was", fault: "patch-ignored", want: redfish.NetworkWish{DHCP: new(bool), Address: netip.MustParsePrefix("127.0.0.2/8")},
			why: "does not show them: DHCP is on, wanted off; it answers at 127.0.0.1:", do: "They are set again on resume", anew: true,
		},
		{
			name: "is not taken", want: redfish.NetworkWish{VLAN: &vlan},
			why: "VLAN", do: "Correct bmc_network of the batch", anew: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := redfishtest.Options{}
			if test.fault != "" {
				o.Faults = []string{test.fault}
			}
			m := newMovable(t, test.want, o)
			err := carryOut(t, bmcNetwork{}, m.env)
			stuck, ok := errors.AsType[*Stuck](err)
			if !ok || !strings.Contains(stuck.Why, test.why) || !strings.Contains(stuck.Do, test.do) || stuck.Anew != test.anew {
				t.Errorf("%#v (%v)", stuck, err)
			}
			if m.Acts()["network.set"] != test.acts {
				t.Errorf("acts %v", m.Acts())
			}
			m.clean(t, err)
		})
	}
}

// TestBMCNetworkAfterKill: killed between the write and the reconnect, the next process
// looks where the BMC is and sets nothing twice.
func TestBMCNetworkAfterKill(t *testing.T) {
	for _, test := range []struct {
		name  string
		wrote bool
		in    Intent
		sets  int // in the next process
	}{
		{"before the write", false, Intent{Act: actBMCNetwork}, 2},
		{"behind the write", true, Intent{Act: actBMCNetwork}, 0},
		{"behind the answer", true, Intent{Act: actBMCNetwork, Acted: true}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMovable(t, address("127.0.0.2"), redfishtest.Options{})
			if test.wrote {
				c, err := m.env.Client(t.Context())
				if err == nil {
					err = c.(Networker).SetNetwork(t.Context(), *m.env.Machine.Network)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			before := m.Acts()["network.set"]
			if err := m.env.Close(); err != nil {
				t.Log(err) // the process is gone; so may be the old address
			}
			test.in.Mark = m.at("127.0.0.2")
			m.env.intents[actBMCNetwork] = test.in
			err := carryOut(t, bmcNetwork{}, m.env)
			if err != nil || m.env.Machine.BMC != m.at("127.0.0.2") || m.Acts()["network.set"]-before != test.sets {
				t.Errorf("%v, spoken to at %s, acts %v", err, m.env.Machine.BMC, m.Acts())
			}
			m.clean(t, err)
		})
	}
}

// TestStrangerAtTheNewAddress gets no password, whatever the batch says of TLS, and a
// machine with a copied certificate is not taken for ours.
func TestStrangerAtTheNewAddress(t *testing.T) {
	certificate, err := redfishtest.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	for _, tls := range []redfish.TLSMode{redfish.Pin, redfish.Insecure} {
		m := newMovable(t, address("127.0.0.3"), redfishtest.Options{Certificate: certificate})
		m.env.Machine.Login.TLS = string(tls)
		stranger := serveBMC(t, redfishtest.Options{Tree: movableTree("ffffffff-4455-6677-8899-aabbccddeeff"), Listen: m.at("127.0.0.3")})
		err := carryOut(t, bmcNetwork{}, m.env)
		if stuck, ok := errors.AsType[*Stuck](err); !ok || !strings.Contains(stuck.Why, "something answers at "+stranger.Addr()+" already") || m.Acts()["network.set"] != 0 {
			t.Errorf("%s: before the write: %v, acts %v", tls, err, m.Acts())
		}
		// It came there behind our back, and ours is gone.
		m.env.intents[actBMCNetwork] = Intent{Act: actBMCNetwork, Mark: stranger.Addr(), Acted: true}
		_ = m.env.Close()
		_ = m.Close()
		err = carryOut(t, bmcNetwork{}, m.env)
		stuck, ok := errors.AsType[*Stuck](err)
		if !ok || !strings.Contains(stuck.Do, "No password was sent") || !strings.Contains(stuck.Do, "forget-pin "+movableUUID) {
			t.Errorf("%s: %v", tls, err)
		}
		if len(stranger.Requests()) != 0 {
			t.Errorf("%s: the stranger was asked: %v", tls, stranger.Requests())
		}
		m.clean(t, err)
	}
	m := newMovable(t, address("127.0.0.4"), redfishtest.Options{Certificate: certificate})
	twin := serveBMC(t, redfishtest.Options{Certificate: certificate, Tree: movableTree("ffffffff-4455-6677-8899-aabbccddeeff"), Listen: m.at("127.0.0.4")})
	m.env.intents[actBMCNetwork] = Intent{Act: actBMCNetwork, Mark: twin.Addr(), Acted: true}
	_ = m.env.Close()
	_ = m.Close()
	err = carryOut(t, bmcNetwork{}, m.env)
	if _, ok := errors.AsType[*Hands](err); !ok || m.env.Machine.BMC == twin.Addr() || twin.Acts()["network.set"] != 0 {
		t.Errorf("a twin: %v, spoken to at %s", err, m.env.Machine.BMC)
	}
}
