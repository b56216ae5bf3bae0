package redfish

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzCaptureRedact feeds any body to what takes secrets out: nothing panics, JSON stays
// JSON, and neither a literal secret nor one under a telling key is left.
func FuzzCaptureRedact(f *testing.F) {
	for _, seed := range []string{
		`{"UserName":"root","Members":[{"@odata.id":"/redfish/v1/AccountService/Accounts/root"}],"SerialNumber":"S889914X37","MAC":"7C:C2:55:50:A8:FF"}`,
		`{"Message":"root from 10.1.2.3","UUID":"4c4c4544-0035-3410-8050-c6c04f314733","IPv4Addresses":[{"Address":"10.1.2.3"}],"a":1.50}`,
		`{"LicenseKey":"x","Broken":}`, `[]`, `null`, `"x@example.com"`, `{"x":"-----BEGIN RSA PRIVATE KEY-----"}`, "\x00",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	const secret = "pl4nted-Passw0rd"
	f.Fuzz(func(t *testing.T, body []byte, anonymise bool) {
		planted := []byte(`{"Key":` + string(body) + `,"Note":"` + secret + `","AuthToken":"t0k-77-secret"}`)
		const uri = "/redfish/v1/Systems/1/LogServices/x/Entries/1"
		c := &Capture{bodies: map[string][]byte{uri: planted}, Refused: map[string]Refusal{"/redfish/v1/x": {Status: 500, body: body}}}
		c.redact(newRecorder(secret), "root", anonymise)
		for at, out := range c.bodies {
			if json.Valid(planted) != json.Valid(out) {
				t.Fatalf("%s: %q became %q", at, planted, out)
			}
			if bytes.Contains(out, []byte(secret)) || json.Valid(planted) && bytes.Contains(out, []byte("t0k-77-secret")) {
				t.Fatalf("a secret is left in %q", out)
			}
		}
	})
}

// FuzzCaptureLinks walks any body: nothing panics, and only paths are followed.
func FuzzCaptureLinks(f *testing.F) {
	f.Add([]byte(`{"@odata.type":"#LogEntryCollection.x","Members":[{"@odata.id":"/a/1","Id":"1"},3,null],"Members@odata.nextLink":"/a?$skip=1"}`))
	f.Add([]byte(`{"@odata.type":"#MessageRegistryFile.x","Location":[{"Language":"en","Uri":{"extref":"/x"}},3],"Actions":{"a":{"@Redfish.ActionInfo":"/i"}}}`))
	f.Add([]byte(`{"a":{"@odata.id":"http://evil/x"},"b":["/redfish/v1/y","../z"],"Actions":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c := &Client{t: &transport{session: &session{collection: defaultSessions}}, record: newRecorder()}
		w := newCaptureWalk(c, CaptureOptions{LogEntries: 5, Resources: 50})
		w.keep("/redfish/v1/LogServices/x/Entries", &answer{body: body})
		for _, uri := range w.next {
			if uri[0] != '/' || bytes.Contains([]byte(uri), []byte("/../")) {
				t.Fatalf("it follows %q", uri)
			}
		}
	})
}
