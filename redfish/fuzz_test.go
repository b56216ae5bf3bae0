package redfish

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// FuzzDocuments feeds any body to every document that is read off a BMC: valid
// JSON of any shape decodes without an error, and nothing panics.
func FuzzDocuments(f *testing.F) {
	for _, seed := range []string{
		`{"Status":[],"Links":{"Chassis":{"@odata.id":"/a"}},"Boot":[],"PowerState":1,"Oem":"x"}`,
		`{"Members":[{"@odata.id":"/a"},null,3],"Members@odata.nextLink":{"@odata.id":"/b"}}`,
		`{"CapacityMiB":"N/A","AllowedSpeedsMHz":["x"],"Location":{"PartLocation":[]}}`,
		`{"error":{"@Message.ExtendedInfo":[{"MessageId":4},"x"]}}`, `{"PowerSupplies":[[],{"PowerCapacityWatts":1e400}]}`,
		smallRegistry, `[]`, `null`, `"x"`, `{"Actions":{"#ComputerSystem.Reset":{"ResetType@Redfish.AllowableValues":"On"}}}`,
	} {
		f.Add([]byte(seed))
	}
	// Every body of the corpus, where it is at hand.
	_ = filepath.WalkDir(filepath.Join("..", "..", "shared", "corpus", "redfish"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			if body, err := os.ReadFile(path); err == nil {
				f.Add(body)
			}
		}
		return nil
	})
	f.Fuzz(func(t *testing.T, body []byte) {
		object := len(body) > 0 && body[0] == '{' && json.Valid(body)
		for _, doc := range []any{
			&rootDoc{}, &systemDoc{}, &chassisDoc{}, &managerDoc{}, &ethernetDoc{}, &processorDoc{}, &memoryDoc{},
			&driveDoc{}, &mediaDoc{}, &adapterDoc{}, &portDoc{}, &psuDoc{}, &deviceDoc{}, &softwareDoc{}, &collectionDoc{}, &jobDoc{},
			&sensorDoc{}, &thermalDoc{}, &powerDoc{}, &powerSubsystemDoc{}, &supplyDoc{}, &coolingDoc{}, &fanDoc{}, &thermalMetricsDoc{}, &environmentDoc{}, &logServiceDoc{}, &entryDoc{}, &consoleDoc{}, &licenceDoc{}, &protocolsDoc{},
		} {
			if err := json.Unmarshal(body, doc); err != nil && object {
				t.Fatalf("%T: %v", doc, err)
			}
		}
		messages(body)
		attributes(body)
		licenceNode(string(body))
		if !json.Valid(newRecorder("secret").redact(body)) {
			t.Fatal("a recorded body is no JSON")
		}
	})
}

func FuzzRegistry(f *testing.F) {
	f.Add([]byte(smallRegistry), "Smt_01A0", "Enable")
	f.Add([]byte(`{"RegistryEntries":{"Attributes":[{"AttributeName":"a","Type":"Integer","LowerBound":-9e99}]}}`), "a", "-1e18")
	f.Fuzz(func(_ *testing.T, body []byte, name, wish string) {
		reg := parseRegistry("fuzz", body)
		_, _ = reg.coerce(name, wish, nil)
		_, _ = resolve(name, map[string]any{wish: 1}, reg)
		_ = nearest(name, map[string]any{wish: 1})
	})
}
