package redfishtest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish/redfishtest"
)

const (
	systemURI   = "/redfish/v1/Systems/1"
	resetURI    = systemURI + "/Actions/ComputerSystem.Reset"
	biosURI     = systemURI + "/Bios"
	settingsURI = biosURI + "/Settings"
	futureURI   = systemURI + "/SD"
	chassisURI  = "/redfish/v1/Chassis/1"
	dimmURI     = systemURI + "/Memory/DIMM1"
	sessionsURI = "/redfish/v1/SessionService/Sessions"
	jobsURI     = "/redfish/v1/Managers/1/Oem/Dell/Jobs"
)

// fixtureTree is a small machine in the shape of the captures.
func fixtureTree(vendor string) redfishtest.Tree {
	tree := redfishtest.Tree{
		"/redfish/v1": json.RawMessage(`{"@odata.id":"/redfish/v1","Systems":{"@odata.id":"/redfish/v1/Systems"},"Managers":{"@odata.id":"/redfish/v1/Managers"},"UpdateService":{"@odata.id":"/redfish/v1/UpdateService"},"EventService":{"@odata.id":"/redfish/v1/EventService"},
			"Tasks":{"@odata.id":"/redfish/v1/TaskService"},"SessionService":{"@odata.id":"/redfish/v1/SessionService"},
			"ProtocolFeaturesSupported":{"ExpandQuery":{"NoLinks":true,"Levels":true,"MaxLevels":1},"SelectQuery":true},
			"Links":{"Sessions":{"@odata.id":"` + sessionsURI + `"}},"Vendor":"` + vendor + `"}`),
		"/redfish/v1/SessionService": json.RawMessage(`{"SessionTimeout":300}`),
		"/redfish/v1/TaskService":    json.RawMessage(`{"Tasks":{"@odata.id":"/redfish/v1/TaskService/Tasks"}}`),
		"/redfish/v1/Systems": json.RawMessage(`{"Members":[{"@odata.id":"/redfish/v1/Systems/HGX_Baseboard_0"},
			{"@odata.id":"` + systemURI + `"}],"Members@odata.count":2}`),
		"/redfish/v1/Systems/HGX_Baseboard_0": json.RawMessage(`{"Id":"HGX_Baseboard_0"}`),
		systemURI: json.RawMessage(`{"@odata.id":"` + systemURI + `","@odata.etag":"W/\"1\"","Id":"1","PowerState":"On",
			"AssetTag":"","SerialNumber":"S1","BiosVersion":"1.4","LastResetTime":"2024-01-01T00:00:00Z","IndicatorLED":"Off","LocationIndicatorActive":false,
			"BootProgress":{"LastState":"OSBootStarted"},
			"Boot":{"BootSourceOverrideEnabled":"Disabled","BootSourceOverrideMode":"UEFI","BootSourceOverrideTarget":"None",
			"BootSourceOverrideTarget@Redfish.AllowableValues":["None","Pxe","Cd","Hdd","UefiHttp"],"HttpBootUri":null,"BootOrder":["Boot0001"]},
			"Bios":{"@odata.id":"` + biosURI + `"},"Memory":{"@odata.id":"` + systemURI + `/Memory"},
			"VirtualMedia":{"@odata.id":"` + systemSlotsURI + `"},
			"Links":{"Chassis":[{"@odata.id":"` + chassisURI + `"}]},
			"@Redfish.Settings":{"SettingsObject":{"@odata.id":"` + futureURI + `"}},
			"Actions":{"#ComputerSystem.Reset":{"target":"` + resetURI + `","@Redfish.ActionInfo":"` + systemURI + `/ResetActionInfo"}}}`),
		systemURI + "/ResetActionInfo": json.RawMessage(`{"Parameters":[{"Name":"ResetType","AllowableValues":
			["On","ForceOff","GracefulShutdown","GracefulRestart","ForceRestart","PowerCycle","PushPowerButton","Nmi"]}]}`),
		futureURI: json.RawMessage(`{"Boot":{"BootSourceOverrideEnabled":"Disabled","BootSourceOverrideMode":"UEFI",
			"BootSourceOverrideTarget":"None"}}`),
		systemURI + "/Memory": json.RawMessage(`{"Members":[{"@odata.id":"` + dimmURI + `"}],"Members@odata.count":1}`),
		dimmURI: json.RawMessage(`{"@odata.id":"` + dimmURI + `","MemberId":"0","CapacityMiB":65536,"OperatingSpeedMhz":4800,
			"MemoryLocation":{"Slot":1},"Location":{"PartLocation":{"ServiceLabel":"DIMM1"}},"Status":{"Health":"OK"}}`),
		chassisURI: json.RawMessage(`{"@odata.id":"` + chassisURI + `","IndicatorLED":"Off"}`),
		biosURI: json.RawMessage(`{"AttributeRegistry":"BiosAttributeRegistry.v1","Attributes":{"Smt":"Enabled","Cores":8,"Quiet":true,"Version":"1.0","Profile":"Max","Turbo":"Enabled"},
			"@Redfish.Settings":{"SettingsObject":{"@odata.id":"` + settingsURI + `"},"SupportedApplyTimes":["OnReset"]}}`),
		settingsURI: json.RawMessage(`{"AttributeRegistry":"BiosAttributeRegistry.v1","Attributes":{}}`),
		"/redfish/v1/Registries/BiosAttributeRegistry.v1": json.RawMessage(`{"Location":[{"Language":"de","Uri":"/nowhere"},
			{"Language":"en","Uri":"/registries/bios"}]}`),
		"/registries/bios": json.RawMessage(`{"RegistryEntries":{"Attributes":[
			{"AttributeName":"Smt","Type":"Enumeration","Value":[{"ValueName":"Enabled"},{"ValueName":"Disabled"}]},
			{"AttributeName":"Cores","Type":"Integer","LowerBound":-1,"UpperBound":64},
			{"AttributeName":"Quiet","Type":"Boolean"},
			{"AttributeName":"Label","Type":"String","MaxLength":4},
			{"AttributeName":"Profile","Type":"Enumeration","Value":[{"ValueName":"Max"},{"ValueName":"Custom"}]},
			{"AttributeName":"Turbo","Type":"Enumeration","ReadOnly":true,"Value":[{"ValueName":"Enabled"},{"ValueName":"Disabled"}]},
			{"AttributeName":"Version","Type":"String","ReadOnly":true}],
			"Dependencies":[{"Type":"Map","DependencyFor":"Turbo","Dependency":{"MapToAttribute":"Turbo","MapToProperty":"ReadOnly","MapToValue":true,
				"MapFrom":[{"MapFromAttribute":"Profile","MapFromProperty":"CurrentValue","MapFromCondition":"NEQ","MapFromValue":"Custom"}]}},
				{"Type":"Map","DependencyFor":"Turbo","Dependency":{"MapToAttribute":"Turbo","MapToProperty":"CurrentValue","MapToValue":"Enabled",
				"MapFrom":[{"MapFromAttribute":"Profile","MapFromProperty":"CurrentValue","MapFromCondition":"EQU","MapFromValue":"Max"}]}}]}}`),
	}
	addSlots(tree)
	addLogs(tree)
	addFirmware(tree)
	if vendor == "Dell" {
		tree[jobsURI] = json.RawMessage(`{"Members":[{"@odata.id":"` + jobsURI + `/JID_1"}]}`)
	}
	return tree
}

// rig is a BMC with a client and the events of the machine behind it.
type rig struct {
	*redfishtest.BMC
	t      *testing.T
	client *http.Client
	basic  bool
	token  string
	events chan string
}

func start(t *testing.T, vendor string, opts redfishtest.Options) *rig {
	t.Helper()
	r := &rig{t: t, basic: true, events: make(chan string, 100)}
	if opts.Tree == nil {
		opts.Tree = fixtureTree(vendor)
	}
	opts.Hooks = redfishtest.Hooks{
		OnPower: func(_ context.Context, on bool) { r.events <- fmt.Sprintf("power %t", on) },
		OnReset: func(context.Context) { r.events <- "reset" },
		OnBoot: func(_ context.Context, b redfishtest.BootChoice) {
			r.events <- strings.TrimSpace("boot " + b.Target + " " + b.Media)
		},
		OnMedia:   func(_ context.Context, slot, image string) { r.events <- fmt.Sprintf("media %s %q", slot, image) },
		OnLocator: func(_ context.Context, on bool) { r.events <- fmt.Sprintf("locator %t", on) },
		OnBIOS:    func(_ context.Context, applied map[string]any) { r.events <- fmt.Sprintf("bios %v", applied) },
	}
	bmc, err := redfishtest.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	r.BMC = bmc
	r.client = insecureClient(t)
	t.Cleanup(func() {
		if err := bmc.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// insecureClient trusts any certificate: the BMC makes a new one at each start,
// and TestCertificate looks at it.
func insecureClient(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

func (r *rig) try(ctx context.Context, method, uri string, body any, headers ...string) (answer, error) {
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL()+uri, reader)
	if err != nil {
		return answer{}, err
	}
	if r.basic {
		req.SetBasicAuth("admin", "password")
	}
	if r.token != "" {
		req.Header.Set("X-Auth-Token", r.token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := r.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	if a.raw, err = io.ReadAll(res.Body); err != nil {
		return answer{}, err
	}
	_ = json.Unmarshal(a.raw, &a.body) // tests of broken JSON look at raw
	return a, nil
}

func (r *rig) do(t *testing.T, method, uri string, body any, headers ...string) answer {
	t.Helper()
	a, err := r.try(t.Context(), method, uri, body, headers...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, uri, err)
	}
	return a
}

func (r *rig) get(t *testing.T, uri string) answer {
	t.Helper()
	return r.do(t, http.MethodGet, uri, nil)
}

func (r *rig) patch(t *testing.T, uri string, body any, headers ...string) answer {
	t.Helper()
	return r.do(t, http.MethodPatch, uri, body, headers...)
}

func (r *rig) reset(t *testing.T, kind string) answer {
	t.Helper()
	return r.do(t, http.MethodPost, resetURI, map[string]any{"ResetType": kind})
}

// fault switches one on and fails the test where it is unknown.
func (r *rig) fault(t *testing.T, spec string) {
	t.Helper()
	if err := r.SetFault(spec, true); err != nil {
		t.Fatal(err)
	}
}

// expect waits for the events of the machine, in order.
func (r *rig) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-r.events:
			if got != w {
				t.Fatalf("event %q, want %q", got, w)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no event, want %q", w)
		}
	}
}

func (r *rig) acts(t *testing.T, want map[string]int) {
	t.Helper()
	got := r.Acts()
	maps.DeleteFunc(got, func(name string, _ int) bool { return want[name] == 0 && name == "task.create" })
	if !maps.Equal(got, want) {
		t.Errorf("acts %v, want %v", got, want)
	}
}

func (a answer) want(t *testing.T, status int, messageID ...string) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.raw)
	}
	for _, id := range messageID {
		if !bytes.Contains(a.raw, []byte(id)) {
			t.Fatalf("no %s in %s", id, a.raw)
		}
	}
	return a
}

// value walks the body.
func (a answer) value(path ...string) any {
	var v any = a.body
	for _, key := range path {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	return v
}

func pxeOnce() map[string]any {
	return map[string]any{"Boot": map[string]any{
		"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe", "BootSourceOverrideMode": "UEFI",
	}}
}

func smtOff() map[string]any {
	return map[string]any{"Attributes": map[string]any{"Smt": "Disabled"}}
}

func onReset(body map[string]any) map[string]any {
	body["@Redfish.SettingsApplyTime"] = map[string]any{"ApplyTime": "OnReset"}
	return body
}

// broken asks until no answer comes and the time is up.
func (r *rig) broken(t *testing.T, method, uri string, body any) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	a, err := r.try(ctx, method, uri, body)
	if err == nil {
		t.Fatalf("%s %s was answered: %d %s", method, uri, a.status, a.raw)
	}
	return err
}

func timedOut(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

func containsID(a answer, kind string) bool { return bytes.Contains(a.raw, []byte("Base.1.8."+kind)) }
