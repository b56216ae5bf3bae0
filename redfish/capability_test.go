package redfish_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// lines are those of a card by "topic name", each as its values, or "?" and why.
func lines(t *testing.T, card redfish.Card) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, l := range card.Lines {
		if l.Topic == "" || l.Name == "" || !strings.HasPrefix(l.Source, "/") || l.Known() != (l.Why == "") || l.Known() != (len(l.Value) > 0) {
			t.Errorf("line %+v", l)
		}
		text := strings.Join(l.Value, ", ")
		if !l.Known() {
			text = "? " + l.Why
		}
		if _, twice := out[l.Topic+" "+l.Name]; twice {
			t.Errorf("%s %s stands twice", l.Topic, l.Name)
		}
		out[l.Topic+" "+l.Name] = text
	}
	return out
}

// TestCapabilities: the cards of the captured machines.
func TestCapabilities(t *testing.T) {
	const unsaid = "? not reported"
	for _, c := range []struct {
		tree, model, bmc, bios string
		want                   map[string]string
	}{
		{"dell", "PowerEdge R750", "6.00.30.00", "1.8.2", map[string]string{
			"boot one device":               "BIOS PxeDev1EnDis, PxeDev1Interface, PxeDev1Protocol",
			"boot URI":                      "BIOS HttpDev1Uri",
			"power AC cycle":                "? none that is known",
			"media 1":                       "CD, DVD, USBStick, by InsertMedia",
			"bios settings object":          "/redfish/v1/Systems/System.Embedded.1/Bios/Settings",
			"bios apply times":              "OnReset, AtMaintenanceWindowStart, InMaintenanceWindowOnReset",
			"jobs job service":              "yes",
			"console serial by the manager": "off",
			"protocols IPMI over LAN":       "on",
			"licence installed":             "iDRAC9 15g Enterprise License",
			"events server-sent events":     "/redfish/v1/SSE",
			"events service":                "no",
			"accounts locks after":          "never",
		}},
		{"hpe", "ProLiant DL385 Gen10 Plus v2", "iLO 5 v2.72", "A42 v2.60 (08/11/2022)", map[string]string{
			"boot URI":                      "BIOS UrlBootFile",
			"boot one device":               "UefiTarget (30 listed)",
			"power AC cycle":                "AuxCycle",
			"bios settings object":          "/redfish/v1/systems/1/bios/settings/",
			"bios apply times":              unsaid,
			"update ways":                   "SimpleUpdate",
			"console serial by the manager": "SSH, IPMI, Oem",
			"protocols IPMI over LAN":       "off",
			"licence installed":             "iLO Advanced",
			"clock NTP":                     unsaid,
			"events server-sent events":     unsaid,
			"logs system IML":               "read for hardware events",
		}},
		{"lenovo", "ThinkSystem SR670 V2", "TGBT42S 2.83 2023-07-05", "U8E122J", map[string]string{
			"boot URI":                  "? no HttpBootUri, and no BIOS attribute is known for it",
			"power resets":              "On, Nmi, GracefulShutdown, GracefulRestart, ForceOn, ForceOff, ForceRestart",
			"media EXT1":                "CD, DVD, Floppy, USBStick, by PATCH",
			"bios settings object":      "/redfish/v1/Systems/1/Bios/Pending",
			"protocols IPMI over LAN":   "off",
			"licence installed":         "Lenovo XClarity Controller Enterprise Upgrade, Lenovo XClarity Controller Advanced Upgrade",
			"events server-sent events": "/redfish/v1/EventService/ServerSentEvent",
			"readings chassis 1":        "Sensors, Thermal, Power, ThermalSubsystem, PowerSubsystem, EnvironmentMetrics",
		}},
		{"nvidia_viking", "DGXH100", "23.11.20", "1.1.3", map[string]string{
			"boot URI":                     "HttpBootUri",
			"media drives":                 "? this BMC does not offer it: it lists no virtual drive, as BMCs do whose licence or remote media setting is missing; look for both in its web page",
			"console serial line IPMI-SOL": "115200 bit/s",
			"protocols IPMI over LAN":      "on, port 623",
			"licence installed":            unsaid,
			"clock NTP servers":            "pool.ntp.org, 216.239.35.4",
			"accounts shortest password":   "13 characters",
			"logs baseboard EventLog":      "read for hardware events",
			"update largest image":         "419627008 bytes",
			"readings telemetry service":   "yes",
		}},
		{"supermicro", "SYS-821GE-TNHR", "11.01.01", "1.4", map[string]string{
			"boot URI":              "BIOS BootURI_2953",
			"boot one device":       "UefiBootNext",
			"bios settings object":  "/redfish/v1/Systems/1/Bios/SD",
			"console serial":        "SSH port 22: cd system1/sol1; start, IPMI",
			"console serial line 1": "115200 bit/s",
			"protocols SNMP":        "off",
			"licence installed":     "SFT-DCMS-SINGLE",
			"accounts locks after":  "3 refused logins",
			"accounts locked for":   "30 s",
			"queries $expand":       "members, all",
			"update targets":        "49",
		}},
	} {
		t.Run(c.tree, func(t *testing.T) {
			bmc := serve(t, redfishtest.Options{Tree: captured(t, c.tree)})
			client := open(t, bmc)
			before := bmc.Acts()
			card, err := client.Capabilities(within(t, time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			if card.Vendor != client.Vendor() || card.Model != c.model || card.BMCFirmware != c.bmc || card.BIOSVersion != c.bios {
				t.Errorf("card of %s %s, BMC %s, BIOS %s", card.Vendor, card.Model, card.BMCFirmware, card.BIOSVersion)
			}
			got := lines(t, card)
			for name, want := range c.want {
				if got[name] != want {
					t.Errorf("%s: %q, want %q", name, got[name], want)
				}
			}
			for name, n := range bmc.Acts() {
				if n != before[name] {
					t.Errorf("act %s", name)
				}
			}
			b, err := json.Marshal(card)
			if err != nil {
				t.Fatal(err)
			}
			// Keys of licences, and the signature beside one.
			for _, secret := range []string{"LicenseKey", "3KMLN", "CK9YW", "lq3oph", "Signature"} {
				if strings.Contains(string(b), secret) {
					t.Errorf("the card holds %s", secret)
				}
			}
		})
	}
}

// TestCapabilitiesNotKnown: what is missing, odd or refused is not known, and the rest
// of the card stands.
func TestCapabilitiesNotKnown(t *testing.T) {
	for _, c := range []struct {
		name string
		tree redfishtest.Tree
		want map[string]string
	}{
		{"a BMC that says little", machineTree(), map[string]string{
			"boot override": "yes", "boot URI": "? no HttpBootUri, and no BIOS attribute is known for it",
			"protocols IPMI over LAN": "? not reported", "events service": "? not reported", "licence installed": "? not reported",
			"bios apply times": "OnReset", "media CD1": "CD, by InsertMedia", "queries $expand": "members",
		}},
		{"no override", edited(t, aSystem, `"BootSourceOverrideTarget":"None",`, ``, `"@Redfish.Settings"`, `"Was"`), map[string]string{"boot override": "no", "power resets": "On, ForceOff, GracefulShutdown, ForceRestart, FullPowerCycle", "power AC cycle": "FullPowerCycle"}},
		{"resets not listed", edited(t, aSystem, `"ResetType@Redfish.AllowableValues"`, `"Was"`), map[string]string{"power resets": "? not reported"}},
		{"BIOS lost", edited(t, aSystem, `/Bios"`, `/Nowhere"`), map[string]string{"boot override": "yes", "media CD1": "CD, by InsertMedia"}},
		{"services of an odd shape", edited(t, "/redfish/v1/Managers/a", `"Id":"a"`, `"SerialConsole":[],"CommandShell":"x","NetworkProtocol":{"@odata.id":"/redfish/v1/Managers/a/LogServices"}`), map[string]string{
			"protocols IPMI over LAN": "? not reported", "console shell": "? not reported", "console serial by the manager": "? not reported",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			card, err := open(t, serve(t, redfishtest.Options{Tree: c.tree})).Capabilities(within(t, time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			got := lines(t, card)
			for name, want := range c.want {
				if got[name] != want {
					t.Errorf("%s: %q, want %q", name, got[name], want)
				}
			}
			if why := got["bios attributes"]; c.name == "BIOS lost" && !strings.HasPrefix(why, "? GET "+aSystem+"/Nowhere: 404") {
				t.Errorf("bios attributes: %q", why)
			}
		})
	}
}
