package profiles

import "testing"

func TestNearest(t *testing.T) {
	keys := []string{"width", "speed", "uplink_width", "uplink_speed", "provenance"}
	for _, test := range []struct{ word, want string }{
		{"widht", "width"},
		{"Width", "width"},
		{"sped", "speed"},
		{"uplink_widths", "uplink_width"},
		{"provenence", "provenance"},
		{"prov", "provenance"},
		{"uplink", ""}, // two begin like this
		{"temperature", ""},
		{"x", ""},
		{"", ""},
	} {
		if got := Nearest(test.word, keys); got != test.want {
			t.Errorf("Nearest(%q) = %q, want %q", test.word, got, test.want)
		}
	}
}
