package provision

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rackproof/rackproof/profiles"
)

// leaseNow is 2026-11-26 12:00:00 UTC.
var leaseNow = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

const (
	dnsmasqLeases = `1795737600 7c:c2:55:00:00:07 10.0.12.7 idrac-F54P1G3 01:7c:c2:55:00:00:07
0 7c:c2:55:00:00:08 10.0.12.8 * *
1795600000 7c:c2:55:00:00:09 10.0.12.9 gone *
3600 7c:c2:55:00:00:0a 10.0.12.10 noclock *
duid 00:01:00:01:2b:6e:aa:bb:02:00:00:00:00:01
1795737600 1431655765 2001:db8::7 ilo 00:03:00:01:7c:c2:55:00:00:07
1795737600 1431655766 2001:db8::8 * 00:01:00:01:2b:6e:aa:bb:7c:c2:55:00:00:08
1795737600 1431655767 2001:db8::9 * 00:02:00:00:ab:11:01:02:03
`
	iscLeases = `# The format of this file is documented in dhcpd.leases(5).
authoring-byte-order little-endian;

failover peer "a" state {
  my state normal at 4 2026/11/26 10:00:00;
}
lease 10.0.12.7 {
  starts 4 2026/11/26 10:00:00;
  ends 4 2026/11/26 11:00:00;
  binding state active;
  hardware ethernet 7c:c2:55:00:00:01;
}
lease 10.0.12.7 {
  starts 4 2026/11/26 11:00:00;
  ends 4 2026/11/26 22:00:00;
  binding state active;
  next binding state free;
  rewind binding state free;
  hardware ethernet 7C:C2:55:00:00:07;
  uid "\001|\302U\000\000\007";
  on expiry {
    set hardware = "x";
    hardware ethernet 00:00:00:00:00:99;
  }
  client-hostname "idrac-F54P1G3";
}
lease 10.0.12.8 {
  ends never;
  hardware ethernet 7c:c2:55:00:00:08;
}
lease 10.0.12.9 {
  ends epoch 1795800000; # Fri Nov 27 2026
  binding state free;
  hardware ethernet 7c:c2:55:00:00:09;
}
`
	keaLeases = `address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context,pool_id
10.0.12.7,7c:c2:55:00:00:01,,3600,1795690800,1,0,0,old,0,,0
10.0.12.7,7c:c2:55:00:00:07,01:7c:c2:55:00:00:07,43200,1795737600,1,0,0,idrac-f54p1g3,0,{ "a": 1&#x2c "b": 2 },0
10.0.12.8,7c:c2:55:00:00:08,,4294967295,0,1,0,0,,0,,0
10.0.12.9,7c:c2:55:00:00:09,,3600,1795737600,1,0,0,,0,,0
10.0.12.9,7c:c2:55:00:00:09,,0,1795737600,1,0,0,,0,,0
10.0.12.10,7c:c2:55:00:00:0a,,3600,1795737600,1,0,0,,1,,0
10.0.12.11,7c:c2:55:00:00:0b,,3600,1795600000,1,0,0,,0,,0
`
	kea6Leases = `address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state
2001:db8::7,00:03:00:01:7c:c2:55:00:00:07,3600,1795737600,1,0,0,1,128,0,0,,,0
2001:db8::8,00:02:00:01,3600,1795737600,1,0,0,1,128,0,0,,7c:c2:55:00:00:08,0
`
)

func TestLeases(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"dnsmasq", dnsmasqLeases, `10.0.12.7 7c:c2:55:00:00:07 idrac-F54P1G3 lease f:1
10.0.12.8 7c:c2:55:00:00:08  lease f:2
10.0.12.10 7c:c2:55:00:00:0a noclock lease f:4
2001:db8::7 7c:c2:55:00:00:07 ilo lease f:6
2001:db8::8 7c:c2:55:00:00:08  lease f:7
2001:db8::9   lease f:8
`},
		{"ISC", iscLeases, `10.0.12.7 7c:c2:55:00:00:07 idrac-F54P1G3 lease f:13
10.0.12.8 7c:c2:55:00:00:08  lease f:27
`},
		{"Kea", keaLeases, `10.0.12.7 7c:c2:55:00:00:07 idrac-f54p1g3 lease f:3
10.0.12.8 7c:c2:55:00:00:08  lease f:4
`},
		{"Kea, IPv6", kea6Leases, `2001:db8::7 7c:c2:55:00:00:07  lease f:2
2001:db8::8 7c:c2:55:00:00:08  lease f:3
`},
		{"Kea, lines end as in Windows", strings.ReplaceAll(kea6Leases, "\n", "\r\n"), `2001:db8::7 7c:c2:55:00:00:07  lease f:2
2001:db8::8 7c:c2:55:00:00:08  lease f:3
`},
		{"empty", "", ""},
		{"ISC without a lease", "# comment\nauthoring-byte-order little-endian;\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := ParseLeases("f", []byte(c.text), leaseNow)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, s := range list {
				fmt.Fprintf(&got, "%s %s %s %s\n", bmcWords(s.At), s.MAC, s.Host, s.Source)
			}
			if got.String() != c.want {
				t.Errorf("got\n%swant\n%s", &got, c.want)
			}
		})
	}
}

func TestLeaseMistakes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"another file", "10.0.12.7 r12u07\n", "f:1:1: no lease: want dnsmasq's"},
		{"no address", "1795737600 7c:c2:55:00:00:07 r12u07 * *\n", `f:1:1: "r12u07" is no IP address`},
		{"ISC cut off", "lease 10.0.12.7 {\n  ends never;\n", "f:1:1: this block does not end"},
		{"ISC closed twice", "lease 10.0.12.7 {\n}\n}\n", "f:3:1: a block ends that did not begin"},
		{"ISC ends", "lease 10.0.12.7 {\n  ends soon;\n}\n", `f:2:1: ends "soon"`},
		{"ISC address", "lease x {\n}\n", `f:1:1: "x" is no IP address`},
		{"ISC, IPv6", "ia-na \"x\" {\n}\n", "f:1:1: DHCPv6 leases of ISC dhcpd are not read"},
		{"Kea without a column", "address,hwaddr,valid_lifetime,expire,state\n", "f:1:1: Kea's leases have a column hostname"},
		{"Kea, a field too many", keaLeases + "10.0.12.12,a,b\n", "f:9:1: 3 fields, and 12 columns"},
		{"Kea, lifetime", keaLeases + "10.0.12.12,,,x,y,1,0,0,,0,,0\n", `f:9:1: valid_lifetime "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseLeases("f", []byte(c.text), leaseNow)
			if _, ok := errors.AsType[profiles.Problems](err); !ok || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func FuzzLeases(f *testing.F) {
	for _, seed := range []string{dnsmasqLeases, iscLeases, keaLeases, kea6Leases, "lease 1 {\n}", "{\n}\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := ParseLeases("f", b, leaseNow)
		if err != nil && len(list) > 0 {
			t.Fatal("an error and leases")
		}
		for _, s := range list {
			if !s.At.IsValid() || s.At.Port() != httpsPort || s.Source == "" {
				t.Fatalf("%+v", s)
			}
		}
	})
}
