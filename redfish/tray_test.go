package redfish_test

import (
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// trayTree has the shape of a GB200 NVL tray: the host names nobody, its serials
// stand on the baseboard and the chassis beside it, and two processor modules have
// GPUs of the same labels.
func trayTree() redfishtest.Tree {
	const host, board = "/redfish/v1/Systems/System_0", "/redfish/v1/Systems/HGX_Baseboard_0"
	tree := redfishtest.Tree{
		"/redfish/v1": []byte(`{"Vendor":"NVIDIA","Product":"GB200 NVL","Systems":{"@odata.id":"/redfish/v1/Systems"},"Chassis":{"@odata.id":"/redfish/v1/Chassis"},
			"ProtocolFeaturesSupported":{"ExpandQuery":{"NoLinks":true,"Levels":true}}}`),
		"/redfish/v1/Systems": []byte(`{"Members":[{"@odata.id":"` + board + `"},{"@odata.id":"` + host + `"}]}`),
		host: []byte(`{"Id":"System_0","Name":"System_0","PowerState":"On","SerialNumber":null,"Model":null,"BootProgress":{"LastState":"OEM","OemLastState":"OsIsRunning"},
			"Bios":{"@odata.id":"` + host + `/Bios"},"Boot":{"BootSourceOverrideTarget":"None","BootSourceOverrideEnabled":"Disabled",
			"BootSourceOverrideTarget@Redfish.AllowableValues":["None","Pxe","Hdd"]},
			"Links":{"Chassis":[{"@odata.id":"/redfish/v1/Chassis/BMC_0"}],"ManagedBy":[{"@odata.id":"/redfish/v1/Managers/BMC_0"}]},
			"Actions":{"#ComputerSystem.Reset":{"target":"` + host + `/Reset","ResetType@Redfish.AllowableValues":["On","ForceOff"]}}}`),
		host + "/Bios": []byte(`{"Id":"BIOS","Attributes":{"TPM":"Disabled","SerialPortConfiguration":"PortDisabled"},
			"@Redfish.Settings":{"SettingsObject":{"@odata.id":"` + host + `/Bios/Settings"}}}`),
		host + "/Bios/Settings": []byte(`{"Id":"BIOS_Settings","Attributes":{}}`),
		board: []byte(`{"Id":"HGX_Baseboard_0","Manufacturer":"NVIDIA","Model":"GB200 NVL","SerialNumber":"164000001","Bios":{"@odata.id":"/x"},
			"Processors":{"@odata.id":"` + board + `/Processors"}}`),
		board + "/Processors":           []byte(`{"Members":[{"@odata.id":"` + board + `/Processors/GPU_0"},{"@odata.id":"` + board + `/Processors/GPU_2"}]}`),
		"/redfish/v1/Managers/BMC_0":    []byte(`{"Id":"BMC_0","Model":"OpenBmc","FirmwareVersion":"GB200Nvl-24.12-8"}`),
		"/redfish/v1/Chassis":           []byte(`{"Members":[{"@odata.id":"/redfish/v1/Chassis/BMC_0"},{"@odata.id":"/redfish/v1/Chassis/Chassis_0"}]}`),
		"/redfish/v1/Chassis/BMC_0":     []byte(`{"Id":"BMC_0","SerialNumber":"158000001"}`),
		"/redfish/v1/Chassis/Chassis_0": []byte(`{"Id":"Chassis_0","SerialNumber":"133000001"}`),
	}
	for gpu, module := range map[string]string{"GPU_0": "ProcessorModule_0", "GPU_2": "ProcessorModule_1"} {
		tree[board+"/Processors/"+gpu] = []byte(`{"Id":"` + gpu + `","ProcessorType":"GPU",
			"Location":{"PartLocation":{"ServiceLabel":"GPU_0"},"PartLocationContext":"HGX_Chassis_0/` + module + `"}}`)
	}
	return tree
}

func TestTray(t *testing.T) {
	client := open(t, serve(t, redfishtest.Options{Tree: trayTree()}))
	ctx := within(t, time.Minute)
	inv, err := client.Inventory(ctx)
	if err != nil || len(inv.Partial) != 0 {
		t.Fatalf("%v, %v", err, inv.Partial)
	}
	want := redfish.Identity{
		Vendor: "nvidia", Manufacturer: "NVIDIA", Model: "GB200 NVL", BoardSerial: "164000001", ChassisSerial: "133000001", BMCFirmware: "GB200Nvl-24.12-8",
	}
	if id := inv.System; id.Vendor != want.Vendor || id.Manufacturer != want.Manufacturer || id.Model != want.Model ||
		id.BoardSerial != want.BoardSerial || id.ChassisSerial != want.ChassisSerial || id.BMCFirmware != want.BMCFirmware {
		t.Errorf("identity %+v, want %+v", id, want)
	}
	if len(inv.GPUs) != 2 || inv.GPUs[0].Label != "ProcessorModule_0 GPU_0" || inv.GPUs[1].Label != "ProcessorModule_1 GPU_0" {
		t.Errorf("GPUs %+v", inv.GPUs)
	}
	if done, known, err := client.POSTDone(ctx); err != nil || !done || !known {
		t.Errorf("POST done %v, known %v, %v", done, known, err)
	}
	attrs, unmapped, err := client.MapIntents(ctx, map[string]string{"tpm": "on", "serial-console": "on", "smt": "off"})
	if err != nil || attrs["TPM"] != "Enabled" || attrs["SerialPortConfiguration"] != "ConsoleEnabledSbsa" || len(unmapped) != 1 {
		t.Errorf("intents %v, %v, %v", attrs, unmapped, err)
	}
}
