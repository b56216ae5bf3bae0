package redfishtest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// A BMC whose answer to the first power act is lost, as when the network drops:
// the machine went off all the same, and was asked once.
func ExampleStart() {
	ctx := context.Background()
	off := make(chan bool)
	bmc, err := redfishtest.Start(ctx, redfishtest.Options{
		Tree:   fixtureTree("Supermicro"),
		Faults: []string{"lost-response=power*1"},
		Hooks:  redfishtest.Hooks{OnPower: func(_ context.Context, on bool) { off <- !on }},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bmc.Close()

	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // an example; a real client pins CertSHA256
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		bmc.URL()+"/redfish/v1/Systems/1/Actions/ComputerSystem.Reset", bytes.NewBufferString(`{"ResetType":"ForceOff"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	req.SetBasicAuth("admin", "password")
	res, err := client.Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	fmt.Println("answered:", err == nil)
	fmt.Println("off:", <-off)
	fmt.Println("acts:", bmc.Acts())
	// Output:
	// answered: false
	// off: true
	// acts: map[power.off:1]
}
