package redfish_test

import (
	"context"
	"net"
	"testing"
	"time"

	bmclib "github.com/bmc-toolbox/bmclib/v2"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// slowest is what the captured BMCs take for a request, as measured from afar.
const slowest = 50 * time.Millisecond

// TestInventoryInFewRequests: login, inventory and logout of each captured machine in
// no more requests than this, four at once at most, and no session left.
func TestInventoryInFewRequests(t *testing.T) {
	for tree, most := range map[string]int{"dell": 110, "supermicro": 220, "nvidia_viking": 170, "hpe": 144, "lenovo": 128} {
		t.Run(tree, func(t *testing.T) {
			bmc := serve(t, redfishtest.Options{Tree: captured(t, tree), Latency: time.Millisecond})
			c, err := redfish.Open(t.Context(), config(bmc))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Inventory(within(t, time.Minute)); err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if n := requests(bmc); n > most {
				t.Errorf("%d requests, want at most %d", n, most)
			} else {
				t.Logf("%d requests", n)
			}
			if n := bmc.MaxInFlight(); n > 4 {
				t.Errorf("%d requests at once", n)
			}
			if n := bmc.OpenSessions(); n != 0 {
				t.Errorf("%d sessions left", n)
			}
		})
	}
}

// TestInventoryWithoutExpand: a BMC that refuses $expand or answers with links costs
// requests and no part.
func TestInventoryWithoutExpand(t *testing.T) {
	count := func(inv redfish.Inventory) [7]int {
		return [7]int{len(inv.CPUs), len(inv.DIMMs), len(inv.GPUs), len(inv.NICs), len(inv.Drives), len(inv.PSUs), len(inv.Firmware)}
	}
	for _, tree := range []string{"dell", "supermicro", "nvidia_viking", "hpe", "lenovo"} {
		client, _ := start(t, tree)
		want, err := client.Inventory(within(t, time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range []string{"expand-refused", "expand-ignored"} {
			client, _ := start(t, tree, fault)
			inv, err := client.Inventory(within(t, time.Minute))
			if err != nil || count(inv) != count(want) || len(inv.Partial) != len(want.Partial) {
				t.Errorf("%s, %s: %v, partial %d, %v; want %v, partial %d", tree, fault, count(inv), len(inv.Partial), err, count(want), len(want.Partial))
			}
		}
	}
}

// BenchmarkInventory compares with bmclib's Inventory on the same served trees.
// Metrics: seconds and requests of both, and ours as a part of its time.
func BenchmarkInventory(b *testing.B) {
	for _, tree := range []string{"dell", "supermicro", "nvidia_viking", "hpe", "lenovo"} {
		b.Run(tree, func(b *testing.B) {
			served := captured(b, tree)
			var ours, theirs time.Duration
			var asked, theyAsked, gpus, theirGPUs int
			for b.Loop() {
				bmc := serve(b, redfishtest.Options{Tree: served, Latency: slowest})
				began := time.Now()
				c, err := redfish.Open(b.Context(), config(bmc))
				if err != nil {
					b.Fatal(err)
				}
				inv, err := c.Inventory(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
				ours += time.Since(began)
				asked, gpus = requests(bmc), len(inv.GPUs)

				bmc = serve(b, redfishtest.Options{Tree: served, Latency: slowest})
				began = time.Now()
				theirGPUs = bmclibInventory(b, bmc)
				theirs += time.Since(began)
				theyAsked = requests(bmc)
			}
			n := time.Duration(b.N)
			b.ReportMetric(0, "ns/op") // of both together, which tells nothing
			b.ReportMetric((ours / n).Seconds(), "ours-s")
			b.ReportMetric((theirs / n).Seconds(), "bmclib-s")
			b.ReportMetric(float64(ours)/float64(theirs), "ratio")
			b.ReportMetric(float64(asked), "ours-requests")
			b.ReportMetric(float64(theyAsked), "bmclib-requests")
			b.ReportMetric(float64(gpus), "ours-gpus")
			b.ReportMetric(float64(theirGPUs), "bmclib-gpus")
			if 3*ours > theirs {
				b.Errorf("ours took %s, bmclib %s: more than a third", ours/n, theirs/n)
			}
		})
	}
}

// bmclibInventory opens, reads and closes with the one driver that reads these, and
// counts the GPUs it found.
func bmclibInventory(b *testing.B, bmc *redfishtest.BMC) int {
	b.Helper()
	host, port, err := net.SplitHostPort(bmc.Addr())
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	// Without a time for each provider the first deadline becomes that of every
	// request.
	c := bmclib.NewClient(host, user, password, bmclib.WithRedfishPort(port), bmclib.WithPerProviderTimeout(time.Minute))
	c.Registry.Drivers = c.Registry.For("gofish")
	if err := c.Open(ctx); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	device, err := c.Inventory(ctx)
	if err != nil {
		b.Fatalf("bmclib: %v", err)
	}
	return len(device.GPUs)
}
