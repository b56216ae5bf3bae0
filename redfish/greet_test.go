package redfish_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/redfish"
	"github.com/rackproof/rackproof/redfish/redfishtest"
)

// TestGreet: what each captured BMC tells before a login, and that nothing else was
// asked of it.
func TestGreet(t *testing.T) {
	for _, c := range []struct {
		tree string
		want redfish.Greeting
	}{
		{"dell", redfish.Greeting{Redfish: "1.13.1", Vendor: "dell", Serial: "F54P1G3", MAC: "b0:7b:25:d6:51:82"}},
		{"hpe", redfish.Greeting{Redfish: "1.6.0", Vendor: "hpe", Model: "ProLiant DL385 Gen10 Plus v2", Serial: "MXQ302099S", HostName: "ILOMXQ302099S", Firmware: "iLO 5 2.72"}},
		{"lenovo", redfish.Greeting{Redfish: "1.15.0", Vendor: "lenovo"}},
		{"nvidia_viking", redfish.Greeting{Redfish: "1.11.0", Software: "ami"}}, // a DGX shows itself after the login alone
		{"supermicro", redfish.Greeting{Redfish: "1.11.0", Vendor: "supermicro", MAC: "7c:c2:55:50:a8:ff"}},
	} {
		t.Run(c.tree, func(t *testing.T) {
			bmc := serve(t, redfishtest.Options{Tree: captured(t, c.tree)})
			got, err := redfish.Greet(t.Context(), redfish.Config{Addr: bmc.Addr(), User: user, Password: "wrong"})
			if err != nil {
				t.Fatal(err)
			}
			if got.SHA256 != bmc.CertSHA256() || got.Closed || got.Legacy {
				t.Errorf("certificate %s, closed %v, legacy %v", got.SHA256, got.Closed, got.Legacy)
			}
			got.SHA256, got.Names = "", nil
			if want := c.want; !equalGreeting(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if asked := bmc.Requests(); len(asked) != 1 || asked["GET /redfish/v1"]+asked["GET /redfish/v1/"] != 1 || bmc.Acts()["session.create"] != 0 {
				t.Errorf("asked %v", asked)
			}
		})
	}
}

func equalGreeting(a, b redfish.Greeting) bool {
	a.Names, b.Names = nil, nil
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// TestGreetRoots: service roots of reports, and what is no BMC.
func TestGreetRoots(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		want       redfish.Greeting
		err        error
	}{
		{
			"SYS-510T, root 1.14", `{"RedfishVersion":"1.14.0","UUID":"00000000-0000-0000-0000-3CECEFC84895","Vendor":"Supermicro","Product":null,"ServiceIdentification":"S482931X2814218"}`, 200,
			redfish.Greeting{Redfish: "1.14.0", Vendor: "supermicro", Serial: "S482931X2814218", MAC: "3c:ec:ef:c8:48:95"},
			nil,
		},
		{"X10: nobody's", `{"RedfishVersion":"1.0.1","UUID":"00000000-0000-0000-0000-AC1F6B18A241","Oem":{}}`, 200, redfish.Greeting{Redfish: "1.0.1"}, nil},
		{"zeros are no MAC", `{"RedfishVersion":"1.8.0","UUID":"00000000-0000-0000-0000-000000000000","Vendor":"Supermicro"}`, 200, redfish.Greeting{Redfish: "1.8.0", Vendor: "supermicro"}, nil},
		{"OpenBMC", `{"RedfishVersion":"1.15.0","Vendor":"OpenBMC","UUID":"x"}`, 200, redfish.Greeting{Redfish: "1.15.0"}, nil},
		{"an iDRAC's odd part", `{"RedfishVersion":"1.9.0","Vendor":"Dell","Oem":{"Dell":[]}}`, 200, redfish.Greeting{Redfish: "1.9.0", Vendor: "dell"}, nil},
		{"closed root", `{"error":{"@Message.ExtendedInfo":[{"MessageId":"Base.1.0.NoValidSession","Message":"no"}]}}`, 401, redfish.Greeting{Closed: true}, nil},
		{"closed, and no Redfish", `Unauthorized`, 401, redfish.Greeting{}, redfish.ErrNoRedfish},
		{"a web server", `<html>`, 200, redfish.Greeting{}, redfish.ErrNoRedfish},
		{"JSON of another kind", `{"status":"ok"}`, 200, redfish.Greeting{}, redfish.ErrNoRedfish},
		{"nothing there", `not found`, 404, redfish.Greeting{}, redfish.ErrNoRedfish},
		{"starting", `{}`, 503, redfish.Greeting{}, errors.New("503")},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if r.Header.Get("Authorization")+r.Header.Get("X-Auth-Token") != "" || r.Method != http.MethodGet {
					t.Errorf("asked with %v", r.Header)
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			got, err := redfish.Greet(t.Context(), redfish.Config{Addr: server.Listener.Addr().String(), User: "u", Password: "p"})
			if c.err == nil && err != nil || c.err != nil && (err == nil || !errors.Is(err, c.err) && !strings.Contains(err.Error(), c.err.Error())) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if got.SHA256 == "" || asked != 1 {
				t.Errorf("certificate %q, asked %d times", got.SHA256, asked)
			}
			got.SHA256, got.Software = "", ""
			if !equalGreeting(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestGreetOutdatedTLS: the answer says that this BMC needs legacy TLS.
func TestGreetOutdatedTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"RedfishVersion":"1.0.0"}`))
	}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	server.StartTLS()
	defer server.Close()
	got, err := redfish.Greet(t.Context(), redfish.Config{Addr: server.Listener.Addr().String()})
	if err != nil || !got.Legacy || got.Redfish != "1.0.0" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestGreetNobody(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	if got, err := redfish.Greet(t.Context(), redfish.Config{Addr: addr}); !errors.Is(err, redfish.ErrUnreachable) || got.SHA256 != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFactoryName(t *testing.T) {
	for _, c := range []struct{ host, vendor, serial string }{
		{"idrac-F54P1G3", "dell", "F54P1G3"},
		{"iDRAC-f54p1g3.mgmt.example", "dell", "F54P1G3"},
		{"ILOMXQ302099S", "hpe", "MXQ302099S"},
		{"ilomxq302099s.", "hpe", "MXQ302099S"},
		{"XCC-7Z23-J105958B", "lenovo", "J105958B"},
		{"idrac-rack12", "", ""},
		{"ilo-r12u07", "", ""},
		{"XCC-7Z23", "", ""},
		{"r12u07", "", ""},
		{"", "", ""},
	} {
		if vendor, serial := redfish.FactoryName(c.host); vendor != c.vendor || serial != c.serial {
			t.Errorf("%q: %q, %q; want %q, %q", c.host, vendor, serial, c.vendor, c.serial)
		}
	}
}
