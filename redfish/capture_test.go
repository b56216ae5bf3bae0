package redfish_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// captureOf writes a capture of what a client reads, and loads it again. files are the
// bytes of every file in the archive, and its names.
func captureOf(t *testing.T, c *redfish.Client, opts redfish.CaptureOptions) (about *redfish.Capture, loaded redfishtest.Capture, files string) {
	t.Helper()
	about, err := c.Capture(within(t, 2*time.Minute), opts)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := about.WriteTarGz(&out, "machine"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "machine.tar.gz")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if loaded, err = redfishtest.LoadCapture(path); err != nil {
		t.Fatal(err)
	}
	zr, err := gzip.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	tr := tar.NewReader(zr)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return about, loaded, all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(h.Name + "\n")
		if _, err := io.Copy(&all, tr); err != nil {
			t.Fatal(err)
		}
	}
}

// knowledge is what a client finds out about a machine, as JSON.
func knowledge(t *testing.T, c *redfish.Client) string {
	t.Helper()
	ctx := within(t, 2*time.Minute)
	inv, err := c.Inventory(ctx)
	if err != nil {
		t.Fatal(err)
	}
	bios, err := c.BIOS(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name := range bios.Attributes {
		if strings.HasPrefix(name, "SHA256") { // of the setup password (iDRAC)
			delete(bios.Attributes, name)
		}
	}
	attrs, unmapped, err := c.MapIntents(ctx, map[string]string{"smt": "off", "iommu": "off", "sriov": "on", "performance": "max"})
	if err != nil {
		t.Fatal(err)
	}
	plan, planErr := c.PlanBIOS(ctx, attrs)
	sensors, sensorErr := c.Sensors(ctx)
	log, logErr := c.Log(ctx, time.Time{})
	boot, err := c.Boot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent([]any{inv, bios, attrs, unmapped, plan, fmt.Sprint(planErr), sensors, fmt.Sprint(sensorErr), len(log), fmt.Sprint(logErr), boot}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// secretsPlanted are what a capture must not hold, beside the password.
var secretsPlanted = []string{
	"licence-3KMLN-37DNC", "snmp-community-77", "token-41b0", "hash-850558116130", "jane.doe@example.com", "MIIEvSecretKey", "qroot7", "basic-header-66",
}

// plant adds a resource full of secrets, an account by its name and a log entry that
// names its user.
func plant(tree redfishtest.Tree, log string) redfishtest.Tree {
	tree = maps.Clone(tree)
	tree["/redfish/v1/Planted"] = []byte(`{"@odata.id":"/redfish/v1/Planted","LicenseKey":"licence-3KMLN-37DNC",
		"SNMP":{"CommunityStrings":[{"CommunityString":"snmp-community-77"}],"ReadCommunities":["snmp-community-77"]},"AccessToken":"token-41b0",
		"Attributes":{"Users.2.IPMIKey":"hash-850558116130","Users.2.SHA1v3Key":"hash-850558116130","Users.2.UserName":"qroot7"},
		"Note":"ask jane.doe@example.com","CertificateString":"-----BEGIN PRIVATE KEY-----\nMIIEvSecretKey\n-----END PRIVATE KEY-----",
		"HttpHeaders":[{"Authorization":"Basic basic-header-66"}],"Path":"C:\\` + password + `",
		"Account":{"@odata.id":"/redfish/v1/AccountService/Accounts/qroot7"},"Log":{"@odata.id":"` + log + `"},"Broken":{"@odata.id":"/redfish/v1/Broken"}}`)
	tree["/redfish/v1/AccountService/Accounts/qroot7"] = []byte(`{"@odata.id":"/redfish/v1/AccountService/Accounts/qroot7","Id":"qroot7","Name":"qroot7","UserName":"qroot7","Password":"` + password + `"}`)
	tree["/redfish/v1/Broken"] = []byte(`{"UserName":"qroot7","AuthKey":"token-41b0","Mail":"jane.doe@example.com",}`)
	tree[log] = []byte(`{"@odata.id":"` + log + `","@odata.type":"#LogEntryCollection.LogEntryCollection","Members":[{"@odata.id":"` + log + `/1","Id":"1",
		"Message":"qroot7 logged in from 10.1.2.3 with ` + password + `","MessageArgs":["qroot7"]}]}`)
	root := map[string]any{}
	_ = json.Unmarshal(tree["/redfish/v1"], &root)
	root["Planted"] = map[string]any{"@odata.id": "/redfish/v1/Planted"}
	tree["/redfish/v1"], _ = json.Marshal(root)
	return tree
}

func checkPlanted(t *testing.T, files string) {
	t.Helper()
	for _, secret := range append([]string{password, `"` + user + `"`}, secretsPlanted...) {
		if i := strings.Index(files, secret); i >= 0 {
			t.Errorf("%q is in the archive: …%s…", secret, files[max(0, i-80):min(len(files), i+40)])
		}
	}
}

// TestCaptureRoundTrip: a captured machine that is served is the machine that was
// captured, and the archive tells no secret.
func TestCaptureRoundTrip(t *testing.T) {
	for _, name := range []string{"dell", "hpe", "lenovo", "nvidia_viking", "supermicro"} {
		t.Run(name, func(t *testing.T) {
			const log = "/redfish/v1/Planted/LogServices/x/Entries"
			bmc := serve(t, redfishtest.Options{Tree: plant(captured(t, name), log)})
			first := open(t, bmc)
			about, loaded, files := captureOf(t, first, redfish.CaptureOptions{})
			if n := bmc.MaxInFlight(); n > 4 {
				t.Errorf("%d requests at once, want at most 4", n)
			}
			if about.Partial != "" || about.Resources < 300 || about.Resources != len(loaded.Tree) {
				t.Errorf("partial %q, %d resources, %d loaded", about.Partial, about.Resources, len(loaded.Tree))
			}
			t.Logf("%d resources, %d bytes, %d refused, %d skipped, %.1f s", about.Resources, about.Bytes, len(about.Refused), len(about.Skipped), about.Seconds)
			checkPlanted(t, files)
			if !strings.Contains(string(loaded.Tree[log+"/1"]), "user-") {
				t.Errorf("the log entry is %s, want it with an alias of its user", loaded.Tree[log+"/1"])
			}
			if json.Valid(loaded.Tree["/redfish/v1/Broken"]) {
				t.Errorf("what was no JSON is now: %s", loaded.Tree["/redfish/v1/Broken"])
			}
			again := open(t, serve(t, redfishtest.Options{Tree: loaded.Tree, Refused: loaded.Refused}))
			was, is := knowledge(t, first), knowledge(t, again)
			if was != is {
				t.Errorf("served again it is another machine: %s", firstDifference(was, is))
			}
		})
	}
}

// firstDifference shows where two texts part.
func firstDifference(a, b string) string {
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(la), len(lb)) {
		if la[i] != lb[i] {
			return fmt.Sprintf("%q, was %q", lb[i], la[i])
		}
	}
	return fmt.Sprintf("%d lines, was %d", len(lb), len(la))
}

// TestCaptureAnonymised: nothing by which the machine is known is left, and what belongs
// together still does.
func TestCaptureAnonymised(t *testing.T) {
	for _, c := range []struct {
		tree  string
		known []string // serial, tag, MACs in their forms, UUID, host name, addresses
	}{
		{"dell", []string{"F54P1G3", "CNIVC0014M0388", "b0:7b:25:d6:51:82", "B07B25D65182", "4c4c4544-0035-3410-8050-c6c04f314733", "46353450314733", "192.168.4.197"}},
		{"supermicro", []string{"S889914X3710910", "7cc25550a8ff", "7C:C2:55:50:A8:FF", "OM234S005959"}},
		{"hpe", []string{"MXQ302099S", "5c:ed:8c:34:c2:94", "5ced8c34c294", "34383350-3131-584d-5133-303230393953"}},
	} {
		t.Run(c.tree, func(t *testing.T) {
			first, _ := start(t, c.tree)
			about, loaded, files := captureOf(t, first, redfish.CaptureOptions{Anonymise: true})
			if !about.Anonymised {
				t.Error("the archive does not say that it is anonymised")
			}
			lower := strings.ToLower(files)
			for _, k := range c.known {
				if i := strings.Index(lower, strings.ToLower(k)); i >= 0 {
					t.Errorf("%q is left: …%s…", k, files[max(0, i-80):i+40])
				}
			}
			again := open(t, serve(t, redfishtest.Options{Tree: loaded.Tree, Refused: loaded.Refused}))
			ctx := within(t, time.Minute)
			was, err := first.Inventory(ctx)
			if err != nil {
				t.Fatal(err)
			}
			is, err := again.Inventory(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if is.System.Model != was.System.Model || len(is.DIMMs) != len(was.DIMMs) || len(is.GPUs) != len(was.GPUs) || len(is.Firmware) != len(was.Firmware) || len(is.Partial) != len(was.Partial) {
				t.Errorf("%s with %d DIMMs, %d GPUs, %d firmware, partial %v; was %s, %d, %d, %d", is.System.Model, len(is.DIMMs), len(is.GPUs), len(is.Firmware), is.Partial,
					was.System.Model, len(was.DIMMs), len(was.GPUs), len(was.Firmware))
			}
			serials := map[string]string{}
			for i, d := range was.DIMMs {
				if had, known := serials[d.Serial]; known && had != is.DIMMs[i].Serial {
					t.Errorf("serial %s became %s and %s", d.Serial, had, is.DIMMs[i].Serial)
				}
				serials[d.Serial] = is.DIMMs[i].Serial
			}
			masked := slices.Sorted(maps.Values(serials))
			if len(slices.Compact(masked)) != len(serials) {
				t.Errorf("serials became one: %v", serials)
			}
		})
	}
}

// TestCaptureAnonymisesNames: the name of a host tells whose it is, also without a digit.
func TestCaptureAnonymisesNames(t *testing.T) {
	tree := machineTree()
	tree["/redfish/v1/Managers/a"] = []byte(`{"Id":"a","FQDN":"falcon.compute.example","HostName":"falcon","DNSDomainName":"compute.example","Note":"login at falcon, by falconer"}`)
	tree[aSystem] = []byte(strings.Replace(string(tree[aSystem]), "{", `{"HostName":"localhost","Description":"localhost of compute.example",`, 1))
	_, loaded, files := captureOf(t, open(t, serve(t, redfishtest.Options{Tree: tree})), redfish.CaptureOptions{Anonymise: true})
	for _, known := range []string{"falcon.", `"falcon"`, "at falcon", "compute.example"} {
		if strings.Contains(files, known) {
			t.Errorf("%q is left", known)
		}
	}
	for uri, kept := range map[string][]string{
		"/redfish/v1/Managers/a": {`"Id": "a"`, "login at ", ", by falconer"},
		aSystem:                  {`"HostName": "localhost"`, "localhost of "},
	} {
		for _, k := range kept {
			if body := string(loaded.Tree[uri]); !strings.Contains(body, k) {
				t.Errorf("%q is gone from %s", k, body)
			}
		}
	}
	m := string(loaded.Tree["/redfish/v1/Managers/a"])
	name := regexp.MustCompile(`"HostName": "([a-z]{6})"`).FindStringSubmatch(m)
	if name == nil || !strings.Contains(m, "login at "+name[1]+",") {
		t.Errorf("the name is not the same twice: %s", m)
	}
}

// smallTree is a machine with a long log, a member that is refused, and links that must
// not be followed.
func smallTree() redfishtest.Tree {
	tree := machineTree()
	const log = "/redfish/v1/Systems/a/LogServices/SEL/Entries"
	var members []string
	for i := range 50 {
		members = append(members, fmt.Sprintf(`{"@odata.id":"%s/%d","Id":"%d","Message":"m"}`, log, i, i))
	}
	tree[log] = []byte(`{"@odata.id":"` + log + `","@odata.type":"#LogEntryCollection.LogEntryCollection","Members":[` + strings.Join(members, ",") + `]}`)
	tree["/redfish/v1/Managers/a"] = []byte(`{"Id":"a","FirmwareVersion":"1","Bare":"/redfish/v1/Managers/a/Bare","ServerSentEventUri":"/redfish/v1/Never/Uri",
		"Stream":{"@odata.id":"/redfish/v1/EventService/SSE"},"Up":{"@odata.id":"/redfish/v1/../../etc"},"Page":{"@odata.id":"/redfish/v1/Page"},"Privileges":["/redfish/v1/Never/Actions/X.Y"],
		"Refused":{"@odata.id":"/redfish/v1/Refused"},"Odd":{"@odata.id":"/redfish/v1/%zz"},"Actions":{"#X.Y":{"target":"/redfish/v1/Never/Action","@Redfish.ActionInfo":"/redfish/v1/Info"}},
		"Targets@Redfish.AllowableValues":["/redfish/v1/Never/Value"]}`)
	tree["/redfish/v1/Managers/a/Bare"] = []byte(`{"Id":"Bare"}`)
	tree["/redfish/v1/Info"] = []byte(`{"Id":"Info"}`)
	tree["/redfish/v1/Page"] = []byte(`<html>a page</html>`)
	return tree
}

// TestCaptureKeepsToResources: no action, no stream, no download is asked for; what is
// refused comes back with its status.
func TestCaptureKeepsToResources(t *testing.T) {
	bmc := serve(t, redfishtest.Options{Tree: smallTree(), Refused: map[string]redfishtest.Refusal{"/redfish/v1/Refused": {Status: 405, Body: []byte(`{"error":{"code":"no"}}`)}}})
	c := open(t, bmc)
	about, loaded, _ := captureOf(t, c, redfish.CaptureOptions{LogEntries: 20})
	for request := range bmc.Requests() {
		if strings.Contains(request, "Never") || strings.Contains(request, "SSE") || strings.Contains(request, "etc") || strings.Contains(request, "Entries/") {
			t.Errorf("it sent %s", request)
		}
	}
	for _, uri := range []string{"/redfish/v1/Managers/a/Bare", "/redfish/v1/Info", "/redfish/v1/Systems/a/LogServices/SEL/Entries/19"} {
		if loaded.Tree[uri] == nil {
			t.Errorf("%s is not in the capture", uri)
		}
	}
	if loaded.Tree["/redfish/v1/Systems/a/LogServices/SEL/Entries/20"] != nil {
		t.Error("a log entry beyond the bound is in the capture")
	}
	if r := loaded.Refused["/redfish/v1/Refused"]; r.Status != 405 || !strings.Contains(string(r.Body), "error") {
		t.Errorf("the refusal is %d %s, want 405 with its body", r.Status, r.Body)
	}
	why := map[string]string{}
	for _, s := range about.Skipped {
		why[s.URI] = s.Why
	}
	for uri, word := range map[string]string{
		"/redfish/v1/EventService/SSE": "stream", "/redfish/v1/Page": "no JSON", "/redfish/v1/%zz": "no path",
		"/redfish/v1/Systems/a/LogServices/SEL/Entries": "beyond the first 20", "/redfish/v1/../../etc": "path",
	} {
		if !strings.Contains(why[uri], word) {
			t.Errorf("%s is skipped for %q, want a word of %s", uri, why[uri], word)
		}
	}
	before := bmc.Acts()
	maps.DeleteFunc(before, func(name string, _ int) bool { return strings.HasPrefix(name, "session.") })
	if len(before) > 0 {
		t.Errorf("a capture changed something: %v", before)
	}
}

// TestCaptureIsBounded: a tree without an end, and a BMC that goes away, end a capture
// that says so and can be served as far as it goes.
func TestCaptureIsBounded(t *testing.T) {
	t.Run("resources", func(t *testing.T) {
		c := open(t, serve(t, redfishtest.Options{Tree: smallTree()}))
		about, loaded, _ := captureOf(t, c, redfish.CaptureOptions{Resources: 10})
		if !strings.Contains(about.Partial, "10 resources") || len(loaded.Tree) > 10 {
			t.Errorf("partial %q with %d resources, want the bound of 10", about.Partial, len(loaded.Tree))
		}
	})
	t.Run("bytes", func(t *testing.T) {
		c := open(t, serve(t, redfishtest.Options{Tree: smallTree()}))
		about, _, _ := captureOf(t, c, redfish.CaptureOptions{Bytes: 2000})
		if !strings.Contains(about.Partial, "bound") {
			t.Errorf("partial %q, want the bound", about.Partial)
		}
	})
	t.Run("gone", func(t *testing.T) {
		bmc := serve(t, redfishtest.Options{Tree: smallTree()})
		c := open(t, bmc)
		gone := false
		about, err := c.Capture(within(t, time.Minute), redfish.CaptureOptions{Progress: func(read, _ int) {
			if read == 12 && !gone {
				gone = true
				if err := bmc.SetFault("reset-connection=1", true); err != nil {
					t.Error(err)
				}
			}
		}})
		if err != nil || !strings.Contains(about.Partial, "does not answer") || len(about.Bodies()) == 0 {
			t.Errorf("%v, partial %q; want what was read until the BMC went", err, about.Partial)
		}
		if strings.Contains(about.Partial, bmc.Addr()) {
			t.Errorf("partial %q tells the address", about.Partial)
		}
		if err := bmc.SetFault("reset-connection", false); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		c := open(t, serve(t, redfishtest.Options{Tree: smallTree()}))
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.Capture(ctx, redfish.CaptureOptions{Progress: func(int, int) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want that it was stopped", err)
		}
	})
}
