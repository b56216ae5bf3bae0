package burnin

import (
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

func TestOptQuantity(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text string
		want profiles.Unit
		v    float64
		set  bool
	}{
		{"81559 MiB", profiles.MiB, 81559, true},
		{"83516416 KiB", profiles.MiB, 81559, true},
		{"80 GiB", profiles.MiB, 81920, true},
		{"502 KB/s", profiles.MBPerSecond, 0.502, true},
		{"26562 MB/s", profiles.GBPerSecond, 26.562, true},
		{"100 %", profiles.Percent, 100, true},
		{"100.00%", profiles.Percent, 100, true},
		{"-8 C", profiles.Celsius, -8, true},
		{"81559", profiles.MiB, 0, false},
		{"81559 W", profiles.MiB, 0, false},
		{"N/A", profiles.MiB, 0, false},
		{"NaN MiB", profiles.MiB, 0, false},
		{"", profiles.MiB, 0, false},
	} {
		got := optQuantity(row.text, row.want, "")
		if got.Set != row.set || got.V != row.v {
			t.Errorf("%q in %s = %+v, want %v", row.text, row.want, got, row.v)
		}
	}
	if got := optQuantity("81559", profiles.MiB, profiles.MiB); !got.Set || got.V != 81559 {
		t.Errorf("a value whose unit stands in the head reads %+v", got)
	}
}

func TestOptCountAndWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Opt[float64]{
		"0":                    {Set: true, Text: "0"},
		"16x":                  {V: 16, Set: true, Text: "16x"},
		"2560 bank(s)":         {V: 2560, Set: true, Text: "2560 bank(s)"},
		"-1":                   {Text: "-1"},
		"4294967295":           {Text: "4294967295"},
		"9223372036854775794":  {Text: "9223372036854775794"},
		"18446744073709551615": {Text: "18446744073709551615"},
		"N/A":                  {Text: "N/A"},
		"":                     {},
	} {
		if got := optCount(text); got != want {
			t.Errorf("optCount(%q) = %+v, want %+v", text, got, want)
		}
	}
	for text, want := range map[string][2]bool{ // set, fault
		"Enabled": {true, false}, "N/A": {false, false}, "[Not Supported]": {false, false}, "Unknown": {false, false},
		"Requested functionality has been deprecated": {false, false},
		"ERR!": {false, true}, "[Unknown Error]": {false, true}, "[GPU requires reset]": {false, true}, "GPU is lost": {false, true},
	} {
		got := optWord(text)
		if got.Set != want[0] || got.Fault() != want[1] {
			t.Errorf("optWord(%q): set %v, fault %v", text, got.Set, got.Fault())
		}
	}
}

func TestOptSum(t *testing.T) {
	t.Parallel()
	zero, three, na, none := optCount("0"), optCount("3"), optCount("N/A"), Opt[float64]{}
	for _, row := range []struct {
		name  string
		parts []Opt[float64]
		set   bool
		v     float64
	}{
		{"all zero", []Opt[float64]{zero, zero}, true, 0},
		{"one is not shown at all", []Opt[float64]{none, zero}, true, 0},
		{"one reads N/A", []Opt[float64]{na, zero}, false, 0},
		{"N/A hides no error", []Opt[float64]{na, three}, true, 3},
		{"errors add up", []Opt[float64]{three, three}, true, 6},
		{"none is shown", []Opt[float64]{none, none}, false, 0},
	} {
		if got := optSum(row.parts...); got.Set != row.set || got.V != row.v {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}
