package burnin

import (
	"errors"
	"os"
	"testing"
)

const (
	biosInForce = `"/redfish/v1/Systems/1/Bios":{"@odata.id":"/redfish/v1/Systems/1/Bios","@Redfish.Settings":{"SettingsObject":{"@odata.id":"/redfish/v1/Systems/1/Bios/SD"}},"Attributes":{"IOMMU":"Disabled","SMT":true,"NPS":4,"Asset":null}}`
	biosPending = `"/redfish/v1/Systems/1/Bios/SD":{"@odata.id":"/redfish/v1/Systems/1/Bios/SD","Attributes":{"IOMMU":"Enabled","SMT":false,"NPS":1}}`
	biosWords   = `"/redfish/v1/Registries/BiosAttributeRegistry":{"RegistryEntries":{"Attributes":[{"AttributeName":"IOMMU"}]}}`
)

func TestBIOSSettings(t *testing.T) {
	wanted := []BIOSLine{
		{Attribute: "IOMMU", Found: "Enabled", Wanted: "Disabled", Now: "Disabled"},
		{Attribute: "SMT", Wanted: "true"},
		{Attribute: "NPS", Wanted: 4.0},
	}
	iommu := "bios/setting/BIOS IOMMU"
	for _, c := range []struct {
		name   string
		bodies string // "" = no evidence
		lines  []BIOSLine
		want   map[string]string
	}{
		{"as wanted", biosInForce, wanted, map[string]string{iommu: "pass", "bios/setting/BIOS SMT": "pass", "bios/setting/BIOS NPS": "pass"}},
		{"with what is pending and the registry", biosInForce + "," + biosPending + "," + biosWords, wanted, map[string]string{iommu: "pass", "bios/setting/BIOS SMT": "pass", "bios/setting/BIOS NPS": "pass"}},
		{"another value", biosInForce, []BIOSLine{{Attribute: "IOMMU", Wanted: "Auto", Now: "Auto"}}, map[string]string{iommu: "fail"}},
		{"a number is no text of another", biosInForce, []BIOSLine{{Attribute: "NPS", Wanted: 40.0}}, map[string]string{"bios/setting/BIOS NPS": "fail"}},
		{"an attribute that is not shown", biosInForce, []BIOSLine{{Attribute: "ACS", Wanted: "Disabled"}}, map[string]string{"bios/setting/BIOS ACS": "not_run"}},
		{"only what is pending, under its own name", biosPending, wanted[:1], map[string]string{"bios/setting/BIOS": "not_run"}},
		{"two BIOSes", biosInForce + "," + `"/redfish/v1/Systems/2/Bios":{"@Redfish.Settings":{},"Attributes":{"IOMMU":"Disabled"}}`, wanted, map[string]string{"bios/setting/BIOS": "not_run"}},
		{"no attributes", `"/redfish/v1/Systems/1/Bios":{"@odata.id":"/redfish/v1/Systems/1/Bios","Attributes":{}}`, wanted, map[string]string{"bios/setting/BIOS": "not_run"}},
		{"no evidence", "", wanted, map[string]string{"bios/setting/BIOS": "not_run"}},
		{"nothing wanted", biosInForce, nil, map[string]string{"bios/setting/BIOS": "not_applicable"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string][]byte{}
			if c.bodies != "" {
				files["bmc/bios"] = []byte("{" + c.bodies + "}")
			}
			rec := looseHost(files)
			rec.Machine.BIOS = c.lines
			found := gpuAnswers(rec, gpuProfile(t, "hgx-h100-8"), biosSettings)
			if len(found) != len(c.want) {
				t.Errorf("%d answers, want %d: %+v", len(found), len(c.want), found)
			}
			for id, want := range c.want {
				f, ok := found[id]
				if got := answerWord(f); !ok || got != want {
					t.Errorf("%s is %s, want %s", id, got, want)
				}
			}
		})
	}
}

// answerWord is a verdict, or that there is none.
func answerWord(f Finding) string {
	if f.NotRun != "" {
		return "not_run"
	}
	return f.Verdict.String()
}

// The BIOSes of captured trees: what is in force is told from what is pending.
func TestBIOSOfCaptures(t *testing.T) {
	const dir = "../../shared/corpus/redfish/bmclib/"
	read := func(name string) string {
		b, err := os.ReadFile(dir + name)
		if errors.Is(err, os.ErrNotExist) {
			t.Skip("the captures are not here: " + dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, c := range []struct{ name, text, attribute, want string }{
		{"Dell R6515", `{"/redfish/v1/Systems/System.Embedded.1/Bios":` + read("wrapper/dell/bios.json") + `}`, "SysMemSize", "64 GB"},
		{"Lenovo", `{"/redfish/v1/Systems/1/Bios":` + read("providers/lenovo/v1/bios.json") + `,"/redfish/v1/Systems/1/Bios/Pending":` + read("providers/lenovo/v1/bios.pending.json") + `}`, "BootModes_SystemBootMode", "LegacyMode"},
	} {
		got, err := parseBIOS(&Evidence{Probe: "bios", Out: []byte(c.text)})
		if err != nil || got[c.attribute] != c.want {
			t.Errorf("%s: %s is %v (%v), want %s", c.name, c.attribute, got[c.attribute], err, c.want)
		}
	}
}

func FuzzBIOS(f *testing.F) {
	f.Add([]byte("{" + biosInForce + "," + biosPending + "," + biosWords + "}"))
	f.Add([]byte(`{"/redfish/v1/Systems/1/Bios":{"Attributes":[]}}`))
	f.Fuzz(func(t *testing.T, out []byte) {
		if got, err := parseBIOS(&Evidence{Probe: "bios", Out: out}); err == nil && len(got) == 0 {
			t.Error("attributes without any")
		}
	})
}
