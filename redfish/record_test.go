package redfish

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRecordedBodiesHoldNoSecret(t *testing.T) {
	const planted = "pl4nted-s3cret"
	r := newRecorder(planted)
	r.hide("t0ken-of-session")
	r.keep("/a", []byte(`{"Password":"other","Nested":[{"X-Auth-Token":"abc","CommunityString":"public"}],
		"Note":"login with `+planted+` now","`+planted+`":1,"PasswordExpires":90,"SysPassword":"","AdminPassword":null,
		"Passwords":["one"],"Name@Redfish.AllowableValues":["a"],"Seen":"t0ken-of-session","Big":12345678901234567890}`))
	r.keep("/b", []byte(`{"Attributes":[{"AttributeName":"A","Type":"Password","CurrentValue":"hunter22"}]}`))
	r.keep("/c", []byte(`{"Password": "broken", "Note": "`+planted+`",}`))
	for uri, body := range r.all() {
		if !json.Valid(body) {
			t.Errorf("%s: not JSON: %s", uri, body)
		}
		for _, secret := range []string{planted, "other", "abc", "public", "hunter22", "t0ken-of-session", "broken", `"one"`} {
			if strings.Contains(string(body), secret) {
				t.Errorf("%s holds %q: %s", uri, secret, body)
			}
		}
	}
	for _, kept := range []string{`"PasswordExpires":90`, `"SysPassword":""`, `"AdminPassword":null`, `12345678901234567890`, `["a"]`} {
		if !strings.Contains(string(r.all()["/a"]), kept) {
			t.Errorf("lost %s in %s", kept, r.all()["/a"])
		}
	}
	if !strings.Contains(string(r.all()["/c"]), `"unparsed"`) {
		t.Errorf("a broken body is not kept: %s", r.all()["/c"])
	}
}
