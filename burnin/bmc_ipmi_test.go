package burnin

import (
	"slices"
	"strings"
	"testing"
)

// overIPMI is what provision writes of a BMC without Redfish.
const overIPMI = `{
	"ipmi:/device": {"raw": "20030317029f911200020f00000000", "firmware": "3.17"},
	"ipmi:/identity": {"manufacturer": "Example", "model": "EX-8G", "uuid": "33221100-5544-7766-8899-aabbccddeeff",
		"system_serial": "EXS0001", "chassis_serial": "To be filled by O.E.M.", "board_serial": "EXB0001", "bmc_mac": "7c:c2:55:00:00:07", "bmc_firmware": "3.17"},
	"ipmi:/parts": {"psus": [{"label": "PSU 1", "serial": "P0001", "model": "3000W"}], "dimms": [{"label": "P1-DIMMA1", "serial": "D1"}], "empty_dimm_slots": ["P2-DIMMB1"]}
}`

func TestBMCInventoryOverIPMI(t *testing.T) {
	tree, err := parseBMCInventory(loose(overIPMI))
	if err != nil {
		t.Fatal(err)
	}
	id := tree.Identity
	if id.UUID != "33221100-5544-7766-8899-aabbccddeeff" || id.SystemSerial != "EXS0001" || id.ChassisSerial != "" || id.BoardSerial != "EXB0001" ||
		id.BMCMAC != "7c:c2:55:00:00:07" || !slices.Equal(tree.MACs, []string{id.BMCMAC}) {
		t.Errorf("identity is %+v, MACs %v", id, tree.MACs)
	}
	if len(tree.Firmware) != 1 || tree.Firmware[0].Model != "3.17" || len(tree.PSUs) != 1 || tree.PSUs[0].Serial != "P0001" {
		t.Errorf("firmware %+v, power supplies %+v", tree.Firmware, tree.PSUs)
	}
	if len(tree.DIMMs)+len(tree.GPUs)+len(tree.Drives) != 0 || len(tree.Partial) == 0 {
		t.Errorf("parts that IPMI does not list whole: %+v", tree)
	}
	if tree, err := parseBMCInventory(loose(`{"ipmi:/identity": 7, "ipmi:/device": {}}`)); err != nil || tree.Identity.UUID != "" || len(tree.Partial) != 1 {
		t.Errorf("a broken body gives %+v, %v", tree, err)
	}
}

// What a BMC cannot tell over IPMI makes no part missing and none proven.
func TestHostWithBMCOverIPMI(t *testing.T) {
	for _, c := range []struct {
		name string
		uuid string
		want string
	}{
		{"the same machine", "33221100-5544-7766-8899-aabbccddeeff", "pass"},
		{"its UUID in the other byte order", "00112233-4455-6677-8899-aabbccddeeff", "pass"},
		{"its UUID backwards", "ffeeddcc-bbaa-9988-7766-554433221100", "pass"},
		{"backwards, and taken for SMBIOS order", "ccddeeff-aabb-8899-7766-554433221100", "pass"},
		{"another machine", "33221100-5544-7766-8899-aabbccddee00", "warn"}, // the BMC's MAC is the host's
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := hostNode(t)
			gpuEvidence(t, rec, "bmc/bmc-inventory").Out = []byte(strings.Replace(overIPMI, "33221100-5544-7766-8899-aabbccddeeff", c.uuid, 1))
			found := judged(t, rec, gpuProfile(t, "host-node"), newGPUParts, identity, memoryPopulation, nvmeCount)
			wantAnswers(t, found, map[string]string{
				"identity/serial/machine":        "pass",
				"identity/bmc_host/machine":      c.want,
				"memory.population/count/memory": "pass",
				"nvme.count/count/NVMe drives":   "pass",
			}, c.want == "pass")
		})
	}
}
