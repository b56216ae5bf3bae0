package provision

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rackproof/rackproof/burnin/shell"
	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// hall is a bastion beside which BMCs have addresses of their own.
type hall struct {
	beside map[string]string // address there to address here
	opened atomic.Int32
	lost   atomic.Bool // the connection under it is gone
}

func (h *hall) Close() error { return nil }

func (h *hall) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if h.lost.Load() {
		return nil, fmt.Errorf("hall: %w", shell.ErrLost)
	}
	here, ok := h.beside[addr]
	if !ok {
		return nil, errors.New("ssh: rejected: connect failed (Connection refused)")
	}
	return (&net.Dialer{}).DialContext(ctx, network, here)
}

// TestBMCBehindABastion: the BMC is asked by its own name, no proxy of the environment
// has a say, one connection serves all requests, and an error names the hop.
func TestBMCBehindABastion(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("https_proxy", "http://127.0.0.1:1")
	bmc, err := redfishtest.Start(context.WithoutCancel(t.Context()), redfishtest.Options{Tree: redfishtest.Tree{
		"/redfish/v1":           []byte(`{"Systems":{"@odata.id":"/redfish/v1/Systems"}}`),
		"/redfish/v1/Systems":   []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/a"}]}`),
		"/redfish/v1/Systems/a": []byte(`{"PowerState":"On","Actions":{"#ComputerSystem.Reset":{"target":"/redfish/v1/Systems/a/R"}}}`),
	}, User: "root", Password: "secret-0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bmc.Close() }()
	h := &hall{beside: map[string]string{"10.0.12.7:443": bmc.Addr()}}
	var failure error
	b := Bastions{Open: func(_ context.Context, via string) (Bastion, error) {
		if via != "hall" {
			t.Errorf("opened %q", via)
		}
		h.opened.Add(1)
		return h, failure
	}}
	pins := OpenKnownBMCs(t.TempDir())
	open := func(addr string) error {
		c, err := redfish.Open(t.Context(), redfish.Config{
			Addr: addr, User: "root", Password: "secret-0", Via: "hall", Dial: b.Dialer("hall"), Poll: 1, TLS: redfish.TLS{Pins: pins},
		})
		if err != nil {
			return err
		}
		_, err = c.Power(t.Context())
		return errors.Join(err, c.Close())
	}
	if err := open("10.0.12.7"); err != nil || h.opened.Load() != 1 {
		t.Fatalf("%v, the bastion was opened %d times", err, h.opened.Load())
	}
	// Another site may have the same private address.
	if pin, ok := pins.Pin("hall/10.0.12.7:443"); !ok || pin != bmc.CertSHA256() {
		t.Errorf("pinned %q under the bastion's name", pin)
	}
	if _, ok := pins.Pin("10.0.12.7:443"); ok {
		t.Error("it is pinned for a BMC of that address here, too")
	}
	if err := open("10.0.12.8"); !errors.Is(err, redfish.ErrUnreachable) || !strings.Contains(err.Error(), "bastion hall ok; BMC 10.0.12.8:443 refused") {
		t.Errorf("a BMC that is off: %v", err)
	}
	// The connection to the bastion was lost: it is opened anew.
	h.lost.Store(true)
	before := h.opened.Load()
	if err := open("10.0.12.7"); err == nil || !strings.Contains(err.Error(), "bastion hall: ") || !strings.Contains(err.Error(), "nothing is known of BMC") {
		t.Errorf("a bastion that is gone: %v", err)
	}
	if h.opened.Load() == before {
		t.Error("it was not opened anew")
	}
	h.lost.Store(false)
	if err := open("10.0.12.7"); err != nil {
		t.Errorf("it is back: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	failure = errors.New("no route to it from here")
	b = Bastions{Open: b.Open}
	if err := open("10.0.12.7"); err == nil || !strings.Contains(err.Error(), "bastion hall: no route to it from here") {
		t.Errorf("a bastion that cannot be reached: %v", err)
	}
}

func TestViaInTheBatch(t *testing.T) {
	t.Setenv("BMC_USER", "root")
	t.Setenv("BMC_PASSWORD", planted)
	const head = "name: job\nprofile: hgx-h100-8\n"
	b, err := parse(t, head+"defaults: {via: tech@hall}\nmachines:\n  - {name: a, bmc: 10.0.0.1}\n  - {name: b, bmc: 10.0.0.1, via: \"other:2222\"}\n")
	if err != nil {
		t.Fatal(err)
	}
	if b.Machines[0].Via != "tech@hall" || b.Machines[1].Via != "other:2222" || b.Machines[0].bmcAddr() == b.Machines[1].bmcAddr() {
		t.Errorf("%+v", b.Machines)
	}
	const boots = "defaults: {via: hall, boot: {method: uefi-http, image: live}}\nmachines: [{name: a, bmc: 10.0.0.1}]\n"
	if _, err := parse(t, head+boots); err == nil || !strings.Contains(err.Error(), "images do not go through the bastion") {
		t.Errorf("a boot through SSH: %v", err)
	}
	if _, err := parse(t, head+"netboot: {listen: \"10.0.0.9:8080\"}\n"+boots); err != nil {
		t.Errorf("a boot past it: %v", err)
	}
	if _, err := parse(t, head+"machines: [{name: a, via: hall, bmc: {addr: 10.0.0.1, protocol: ipmi}}]\n"); err == nil || !strings.Contains(err.Error(), "UDP") {
		t.Errorf("IPMI through SSH: %v", err)
	}
}

// TestSlowBastionHoldsUpNobodyElse: each is opened on its own, those who wait for one may
// leave, and Close does not wait for it.
func TestSlowBastionHoldsUpNobodyElse(t *testing.T) {
	slow := make(chan struct{})
	h := &hall{beside: map[string]string{}}
	b := Bastions{Open: func(_ context.Context, via string) (Bastion, error) {
		if via == "slow" {
			<-slow
		}
		h.opened.Add(1)
		return h, nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := b.Dialer("slow")(ctx, "tcp", "10.0.12.7:443")
		left <- err
	}()
	if _, err := b.Dialer("quick")(t.Context(), "tcp", "10.0.12.7:443"); err == nil || h.opened.Load() != 1 {
		t.Errorf("the quick one: %v", err)
	}
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who left was told %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	close(slow)
	if _, err := b.Dialer("quick")(t.Context(), "tcp", "10.0.12.7:443"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
