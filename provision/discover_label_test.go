package provision

import (
	"errors"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Label
	}{
		{
			"words", "# rack 12\n7C-C2-55-00-00-07 r12u07 R12 7\n\nF54P1G3, r12u09, R12, U09 # spare\n7cc2.5500.000b\n",
			[]Label{
				{MAC: "7c:c2:55:00:00:07", Name: "r12u07", Rack: "R12", U: 7},
				{Serial: "F54P1G3", Name: "r12u09", Rack: "R12", U: 9},
				{MAC: "7c:c2:55:00:00:0b"},
			},
		},
		{"either", "123456789012 r12u07\n", []Label{{MAC: "12:34:56:78:90:12", Serial: "123456789012", Name: "r12u07"}}},
		{
			"table", "Name;MAC;Serial;Rack;U\r\nr12u07;7c:c2:55:00:00:07;F54P1G3;R12;7\r\n;;;;\r\nr12u09;;F54P1G4;;\r\n",
			[]Label{
				{MAC: "7c:c2:55:00:00:07", Serial: "F54P1G3", Name: "r12u07", Rack: "R12", U: 7},
				{Serial: "F54P1G4", Name: "r12u09"},
			},
		},
		{"a mark of the byte order", "\ufeffmac,name\n7c:c2:55:00:00:07,r12u07\n", []Label{{MAC: "7c:c2:55:00:00:07", Name: "r12u07"}}},
		{"an empty cell keeps its place", "7c:c2:55:00:00:07,,R12,7,\n;;;\n", []Label{{MAC: "7c:c2:55:00:00:07", Rack: "R12", U: 7}}},
		{"nothing", "# nothing\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseLabels("f", []byte(c.text))
			if err != nil || len(got) != len(c.want) {
				t.Fatalf("%+v, %v", got, err)
			}
			for i, l := range got {
				l.Pos = profiles.Position{}
				if l != c.want[i] {
					t.Errorf("line %d: %+v, want %+v", i+1, l, c.want[i])
				}
			}
		})
	}
}

func TestLabelMistakes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"too much", "a b c 1 e\n", "f:1:1: 5 words"},
		{"unit", "F54P1G3 r12u07 R12 top\n", `f:1:1: u "top"`},
		{"name", "F54P1G3 r12/u07\n", `f:1:1: machine name "r12/u07"`},
		{"a MAC's typing error", "7c:c2:55:00:00:0g r12u07\n", "f:1:1: \"7c:c2:55:00:00:0g\" is neither a MAC nor a serial"},
		{"twice", "F54P1G3 a\n\nf54p1g3 b\n", "f:3:1: serial F54P1G3 stands in line 1 already"},
		{"one name", "F54P1G3 a\nF54P1G4 a\n", "f:2:1: name a stands in line 1 already"},
		{"column", "mac,namee\n", `f:1:1: unknown column "namee", did you mean "name"?`},
		{"cells", "mac,name\n\n7c:c2:55:00:00:07\n", "f:3:1: wrong number of fields"},
		{"table's MAC", "mac,name\n7c:c2,r12u07\n", `f:2:1: "7c:c2" is no MAC`},
		{"no key", "mac,serial,name\n,,r12u07\n", "f:2:1: neither MAC nor serial"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseLabels("f", []byte(c.text))
			if _, ok := errors.AsType[profiles.Problems](err); !ok || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func FuzzLabels(f *testing.F) {
	for _, seed := range []string{"7c:c2:55:00:00:07 a R1 1\n", "name,mac\na,7c:c2:55:00:00:07\n", "mac;u\n\"", "serial\tname\nx\ty\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := ParseLabels("f", b)
		if err != nil && len(list) > 0 {
			t.Fatal("an error and labels")
		}
		for _, l := range list {
			if l.MAC == "" && l.Serial == "" || l.Pos.Line < 1 || l.Name != "" && !fileSafe.MatchString(l.Name) {
				t.Fatalf("%+v", l)
			}
		}
	})
}
