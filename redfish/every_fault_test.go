package redfish_test

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// verb is one thing that is done to a BMC by hand or by a step.
type verb struct {
	name string
	do   func(context.Context, *redfish.Client) error
	tree func() redfishtest.Tree // nil: machineTree
}

func verbs() []verb {
	power := func(a redfish.PowerAction) func(context.Context, *redfish.Client) error {
		return func(ctx context.Context, c *redfish.Client) error { return c.SetPower(ctx, a) }
	}
	wish := map[string]any{"Turbo": "Disabled", "Profile": "Custom"}
	return slices.Concat(readings(), []verb{
		{name: "identity", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Identity(ctx); return err }},
		{name: "inventory", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Inventory(ctx); return err }},
		{name: "firmware", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Firmware(ctx); return err }},
		{name: "power", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Power(ctx); return err }},
		{name: "post", do: func(ctx context.Context, c *redfish.Client) error { _, _, err := c.POSTDone(ctx); return err }},
		{name: "preflight", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Preflight(ctx); return err }},
		{name: "sensors", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Sensors(ctx); return err }},
		{name: "log", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Log(ctx, time.Time{}); return err }},
		{name: "boot", do: func(ctx context.Context, c *redfish.Client) error {
			return c.SetBoot(ctx, redfish.Boot{Target: "Pxe", Mode: "UEFI"})
		}},
		{name: "boot read", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Boot(ctx); return err }},
		{name: "POST done", do: func(ctx context.Context, c *redfish.Client) error { _, _, err := c.POSTDone(ctx); return err }},
		{name: "bios", do: func(ctx context.Context, c *redfish.Client) error {
			changes, err := c.PlanBIOS(ctx, wish)
			if err != nil {
				return err
			}
			_, err = c.StageBIOS(ctx, changes)
			return err
		}},
		{name: "bios verify", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.VerifyBIOS(ctx, wish); return err }},
		{name: "bios discard", do: func(ctx context.Context, c *redfish.Client) error { return c.DiscardBIOS(ctx) }},
		{name: "locate", do: func(ctx context.Context, c *redfish.Client) error { return c.SetLocator(ctx, true) }},
		{name: "media", do: func(ctx context.Context, c *redfish.Client) error {
			slot, err := c.InsertMedia(ctx, "http://192.0.2.1/a.iso")
			if err != nil {
				return err
			}
			return c.EjectMedia(ctx, slot)
		}},
		{name: "capabilities", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Capabilities(ctx); return err }},
		{name: "diagnostics", do: func(ctx context.Context, c *redfish.Client) error {
			bounded, cancel := context.WithTimeout(ctx, 3*time.Second) // some faults never end
			defer cancel()
			_, err := c.CollectDiagnostic(bounded, "manager-a", io.Discard, redfish.CollectOptions{})
			return err
		}},
		{name: "locator", do: func(ctx context.Context, c *redfish.Client) error { _, err := c.Locator(ctx); return err }},
		{name: "clock", do: func(ctx context.Context, c *redfish.Client) error { _, _, err := c.Clock(ctx); return err }},
		{name: "capture", do: func(ctx context.Context, c *redfish.Client) error {
			_, err := c.Capture(ctx, redfish.CaptureOptions{})
			return err
		}},
		{name: "network", do: func(ctx context.Context, c *redfish.Client) error {
			return c.SetNetwork(ctx, redfish.NetworkWish{HostName: "bmc-r12u07"})
		}},
		{name: "password", do: func(ctx context.Context, c *redfish.Client) error { return c.SetPassword(ctx, "Another-2026") }},
		{name: "update", do: func(ctx context.Context, c *redfish.Client) error {
			job, err := c.Update(ctx, redfish.Image{URL: "http://127.0.0.1:9/bmc.bin"}) // nothing listens there
			if err != nil {
				return err
			}
			_, err = c.WaitUpdate(ctx, job)
			return err
		}},
		{name: "ac-cycle", do: func(ctx context.Context, c *redfish.Client) error { return c.ACCycle(ctx) }},
		{name: "restart", do: power(redfish.Restart)},
		{name: "off", do: power(redfish.PowerOff)},
		{name: "on", do: power(redfish.PowerOn)},
	})
}

// machineTree is a whole small machine.
func machineTree() redfishtest.Tree {
	const s, c = "/redfish/v1/Systems/a", "/redfish/v1/Chassis/a"
	tree := small()
	maps.Copy(tree, redfishtest.Tree{
		"/redfish/v1": []byte(`{"Systems":{"@odata.id":"/redfish/v1/Systems"},"Links":{"Sessions":{"@odata.id":"/redfish/v1/SessionService/Sessions"}},
			"UpdateService":{"@odata.id":"/redfish/v1/UpdateService"},"AccountService":{"@odata.id":"/redfish/v1/AccountService"},"Tasks":{"@odata.id":"/redfish/v1/TaskService"},"Registries":{"@odata.id":"/redfish/v1/Registries"},
			"Managers":{"@odata.id":"/redfish/v1/Managers"},"ProtocolFeaturesSupported":{"ExpandQuery":{"NoLinks":true,"Levels":true}}}`),
		s: []byte(`{"Id":"a","@odata.id":"` + s + `","@odata.etag":"\"1\"","PowerState":"On","IndicatorLED":"Off","SerialNumber":"S1","Model":"M","Manufacturer":"Contoso",
			"LastResetTime":"2024-01-01T00:00:00Z","BootProgress":{"LastState":"OSRunning"},
			"Boot":{"BootSourceOverrideTarget":"None","BootSourceOverrideEnabled":"Disabled","BootSourceOverrideMode":"UEFI",
			"BootSourceOverrideTarget@Redfish.AllowableValues":["None","Pxe","Cd","Hdd"]},
			"@Redfish.Settings":{"SettingsObject":{"@odata.id":"` + s + `/SD"}},
			"Bios":{"@odata.id":"` + s + `/Bios"},"Memory":{"@odata.id":"` + s + `/Memory"},"VirtualMedia":{"@odata.id":"` + s + `/VirtualMedia"},
			"LogServices":{"@odata.id":"` + s + `/LogServices"},
			"Links":{"Chassis":[{"@odata.id":"` + c + `"}],"ManagedBy":[{"@odata.id":"/redfish/v1/Managers/a"}]},
			"Actions":{"#ComputerSystem.Reset":{"target":"` + s + `/Actions/ComputerSystem.Reset",
			"ResetType@Redfish.AllowableValues":["On","ForceOff","GracefulShutdown","ForceRestart","FullPowerCycle"]}}}`),
		s + "/SD": []byte(`{"Id":"SD","Boot":{"BootSourceOverrideTarget":"None","BootSourceOverrideEnabled":"Disabled","BootSourceOverrideMode":"UEFI"}}`),
		s + "/Bios": []byte(`{"Id":"Bios","AttributeRegistry":"BiosAttributeRegistry.1","Attributes":{"Profile":"Max","Turbo":"Enabled"},
			"@Redfish.Settings":{"SettingsObject":{"@odata.id":"` + s + `/Bios/SD"},"SupportedApplyTimes":["OnReset"]}}`),
		s + "/Bios/SD":      []byte(`{"Id":"SD","Attributes":{}}`),
		s + "/Memory":       []byte(`{"Members":[{"@odata.id":"` + s + `/Memory/1"}]}`),
		s + "/Memory/1":     []byte(`{"@odata.id":"` + s + `/Memory/1","Id":"1","Name":"DIMM1","CapacityMiB":65536,"SerialNumber":"D1","MemoryLocation":{"Slot":1},"Status":{"State":"Enabled"}}`),
		s + "/VirtualMedia": []byte(`{"Members":[{"@odata.id":"` + s + `/VirtualMedia/CD1"}]}`),
		s + "/VirtualMedia/CD1": []byte(`{"@odata.id":"` + s + `/VirtualMedia/CD1","Id":"CD1","MediaTypes":["CD"],"Inserted":false,"Image":null,"ConnectedVia":"NotConnected",
			"Actions":{"#VirtualMedia.InsertMedia":{"target":"` + s + `/VirtualMedia/CD1/Insert"},"#VirtualMedia.EjectMedia":{"target":"` + s + `/VirtualMedia/CD1/Eject"}}}`),
		s + "/LogServices":             []byte(`{"Members":[{"@odata.id":"` + s + `/LogServices/SEL"}]}`),
		s + "/LogServices/SEL":         []byte(`{"@odata.id":"` + s + `/LogServices/SEL","Id":"SEL","LogEntryType":"SEL","Entries":{"@odata.id":"` + s + `/LogServices/SEL/Entries"}}`),
		s + "/LogServices/SEL/Entries": []byte(`{"Members":[{"@odata.id":"` + s + `/LogServices/SEL/Entries/1","Id":"1","Created":"2024-01-01T00:00:00Z","Message":"ECC","Severity":"Warning"}]}`),
		c:                              []byte(`{"Id":"a","SerialNumber":"C1","Thermal":{"@odata.id":"` + c + `/Thermal"}}`),
		c + "/Thermal":                 []byte(`{"Temperatures":[{"MemberId":"0","Name":"CPU1","ReadingCelsius":40,"Status":{"State":"Enabled"}}]}`),
		"/redfish/v1/Managers":         []byte(`{"Members":[{"@odata.id":"/redfish/v1/Managers/a"}]}`),
		"/redfish/v1/Managers/a": []byte(`{"Id":"a","FirmwareVersion":"1","DateTime":"2024-01-01T00:00:00Z","LogServices":{"@odata.id":"/redfish/v1/Managers/a/LogServices"},
			"EthernetInterfaces":{"@odata.id":"/redfish/v1/Managers/a/EthernetInterfaces"}}`),
		"/redfish/v1/Managers/a/EthernetInterfaces": []byte(`{"Members":[{"@odata.id":"/redfish/v1/Managers/a/EthernetInterfaces/1"}]}`),
		"/redfish/v1/Managers/a/EthernetInterfaces/1": []byte(`{"@odata.id":"/redfish/v1/Managers/a/EthernetInterfaces/1","Id":"1","HostName":"bmc",
			"MACAddress":"00:53:00:00:00:01","IPv4Addresses":[{"Address":"127.0.0.1","SubnetMask":"255.0.0.0","AddressOrigin":"Static"}]}`),
		"/redfish/v1/AccountService": []byte(`{"Accounts":{"@odata.id":"/redfish/v1/AccountService/Accounts"}}`),
		"/redfish/v1/UpdateService": []byte(`{"FirmwareInventory":{"@odata.id":"/redfish/v1/UpdateService/FirmwareInventory"},
			"Actions":{"#UpdateService.SimpleUpdate":{"target":"/redfish/v1/UpdateService/Actions/SimpleUpdate"}}}`),
		"/redfish/v1/Managers/a/LogServices": []byte(`{"Members":[{"@odata.id":"/redfish/v1/Managers/a/LogServices/Dump"}]}`),
		"/redfish/v1/Managers/a/LogServices/Dump": []byte(`{"@odata.id":"/redfish/v1/Managers/a/LogServices/Dump","Id":"Dump","Entries":{"@odata.id":"/redfish/v1/Managers/a/LogServices/Dump/Entries"},
			"Actions":{"#LogService.CollectDiagnosticData":{"target":"/redfish/v1/Managers/a/LogServices/Dump/Collect"}}}`),
		"/redfish/v1/Managers/a/LogServices/Dump/Entries": []byte(`{"Members":[]}`),
		"/redfish/v1/UpdateService/FirmwareInventory":     []byte(`{"Members":[{"@odata.id":"/redfish/v1/UpdateService/FirmwareInventory/BMC"}]}`),
		"/redfish/v1/UpdateService/FirmwareInventory/BMC": []byte(`{"@odata.id":"/redfish/v1/UpdateService/FirmwareInventory/BMC","Id":"BMC","Version":"1"}`),
		"/redfish/v1/TaskService":                         []byte(`{"Tasks":{"@odata.id":"/redfish/v1/TaskService/Tasks"}}`),
		"/redfish/v1/TaskService/Tasks":                   []byte(`{"Members":[]}`),
		"/redfish/v1/Registries":                          []byte(`{"Members":[{"@odata.id":"/redfish/v1/Registries/BiosAttributeRegistry.1"}]}`),
		"/redfish/v1/Registries/BiosAttributeRegistry.1":  []byte(`{"Location":[{"Language":"en","Uri":"/redfish/v1/Registries/bios"}]}`),
		"/redfish/v1/Registries/bios": []byte(`{"RegistryEntries":{"Attributes":[
			{"AttributeName":"Profile","Type":"Enumeration","Value":[{"ValueName":"Max"},{"ValueName":"Custom"}]},
			{"AttributeName":"Turbo","Type":"Enumeration","Value":[{"ValueName":"Enabled"},{"ValueName":"Disabled"}]}],
			"Dependencies":[{"Dependency":{"MapToAttribute":"Turbo","MapToProperty":"ReadOnly","MapToValue":true,
			"MapFrom":[{"MapFromAttribute":"Profile","MapFromCondition":"NEQ","MapFromValue":"Custom"}]}}]}}`),
	})
	return tree
}

// patience is what one verb may take under any fault: few deadlines are waited
// for in a row.
const patience = 30 * time.Second

// TestEveryFaultOnEveryVerb: a clear error or success, within bounds; no session
// left; no act of power twice.
func TestEveryFaultOnEveryVerb(t *testing.T) {
	for _, fault := range redfishtest.FaultNames() {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			spec := fault
			switch fault {
			case "slow":
				spec = "slow=5ms"
			case "not-ready": // each refusal asks for a second
				spec = "not-ready*4"
			}
			for _, v := range verbs() {
				underFault(t, spec, v)
			}
		})
	}
}

func underFault(t *testing.T, fault string, v verb) {
	t.Helper()
	tree := machineTree
	if v.tree != nil {
		tree = v.tree
	}
	bmc := serve(t, redfishtest.Options{Tree: tree()})
	cfg := config(bmc)
	cfg.Timeout, cfg.Poll = 10*time.Second, time.Millisecond
	cfg.GracefulWait, cfg.PowerWait = 100*time.Millisecond, 100*time.Millisecond
	if strings.HasPrefix(fault, "hang") {
		cfg.Timeout = 1500 * time.Millisecond
	}
	c, err := redfish.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("%s: %v", v.name, err)
	}
	if v.name == "on" {
		bmc.SetPower(false)
	}
	if err := bmc.SetFault(fault, true); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = v.do(ctx, c)
	if ctx.Err() != nil {
		t.Errorf("%s: took longer than %s: %v", v.name, patience, err)
	}
	if err != nil && !strings.Contains(err.Error(), "BMC") {
		t.Errorf("%s: an error without its BMC: %v", v.name, err)
	}
	powered := map[string]int{}
	for _, act := range bmc.ActLog() {
		if strings.HasPrefix(act.Name, "power.") && !act.Lost && act.Name != "power.request" {
			powered[act.Name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(powered)) {
		if powered[name] > 1 {
			t.Errorf("%s: %s %d times", v.name, name, powered[name])
		}
	}
	// An AC cycle is made of all three: off, cut, on.
	if v.name != "ac-cycle" && powered["power.reset"] > 0 && powered["power.off"] > 0 {
		t.Errorf("%s: power was reset and switched: %v", v.name, powered)
	}
	if err := bmc.SetFault(fault, false); err != nil {
		t.Fatal(err)
	}
	err = c.Close()
	if v.name == "network" && fault == "network-gone" {
		return // it has gone where nobody reaches it, and its session with it
	}
	if err != nil {
		t.Errorf("%s: close: %v", v.name, err)
	}
	if n := bmc.OpenSessions(); n != 0 {
		t.Errorf("%s: %d sessions left", v.name, n)
	}
}
