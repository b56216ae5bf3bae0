package profiles

import (
	"math"
	"testing"
)

func TestParseQuantity(t *testing.T) {
	for _, test := range []struct {
		in   string
		want Quantity
	}{
		{"26.562 GB/s", Quantity{26.562, GBPerSecond}},
		{"16 lanes", Quantity{16, Lanes}},
		{"16lanes", Quantity{16, Lanes}},
		{"8", Quantity{8, Count}},
		{"8 count", Quantity{8, Count}},
		{"-8 C", Quantity{-8, Celsius}},
		{"99.5%", Quantity{99.5, Percent}},
	} {
		got, err := ParseQuantity(test.in)
		if err != nil || got != test.want {
			t.Errorf("ParseQuantity(%q) = %v, %v; want %v", test.in, got, err, test.want)
		}
	}
}

func TestParseQuantityRefuses(t *testing.T) {
	const form = ` is not a quantity: write one number and its unit, such as "16 GB/s"`
	for _, test := range []struct{ in, want string }{
		{"", `""` + form},
		{"GB/s", `"GB/s"` + form},
		{" 8", `" 8"` + form},
		{"8  W", `"8  W"` + form},
		{"1e3 W", `"1e3 W"` + form},
		{"1,000 W", `"1,000 W"` + form},
		{"8 W 9", `"8 W 9"` + form},
		{"+8 W", `"+8 W"` + form},
		{"0x10", `unknown unit "x10" in "0x10"`},
		{"25 gb/s", `unknown unit "gb/s" in "25 gb/s", did you mean "GB/s"?`},
		{"16 lane", `unknown unit "lane" in "16 lane", did you mean "lanes"?`},
		{"3 furlongs", `unknown unit "furlongs" in "3 furlongs"`},
	} {
		got, err := ParseQuantity(test.in)
		if err == nil {
			t.Errorf("ParseQuantity(%q) = %v, want an error", test.in, got)
		} else if err.Error() != test.want {
			t.Errorf("ParseQuantity(%q)\n got %s\nwant %s", test.in, err, test.want)
		}
	}
}

// Every unit is read back as it was written, and converts to its dimension's first unit and back.
func TestUnitsRoundTrip(t *testing.T) {
	first := map[Dimension]Unit{}
	for _, unit := range Units() {
		q := Quantity{Value: 1.5, Unit: unit}
		back, err := ParseQuantity(q.String())
		if err != nil || back != q {
			t.Errorf("%s: read back as %v, %v", q, back, err)
		}
		base, ok := first[unit.Dimension()]
		if !ok {
			first[unit.Dimension()] = unit
			continue
		}
		there, err := q.In(base)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Quantity{Value: there, Unit: base}.In(unit)
		if err != nil || math.Abs(again-1.5) > 1e-9 {
			t.Errorf("%s in %s and back is %v, %v", q, base, again, err)
		}
	}
}

func TestQuantityIn(t *testing.T) {
	for _, test := range []struct {
		in   Quantity
		unit Unit
		want float64
	}{
		{Quantity{1, GiB}, MiB, 1024},
		{Quantity{1, GB}, MB, 1000},
		{Quantity{8, GbPerSecond}, GBPerSecond, 1},
		{Quantity{32, GTPerSecond}, MTPerSecond, 32000},
		{Quantity{300.15, Kelvin}, Celsius, 27},
		{Quantity{27, Celsius}, Kelvin, 300.15},
		{Quantity{10.2, KW}, Watt, 10200},
		{Quantity{1, Days}, Hours, 24},
	} {
		got, err := test.in.In(test.unit)
		if err != nil || math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s in %s = %v, %v; want %v", test.in, test.unit, got, err, test.want)
		}
	}
	for _, unit := range []Unit{GTPerSecond, GB, "parsec", ""} {
		if got, err := (Quantity{1, GBPerSecond}).In(unit); err == nil {
			t.Errorf("1 GB/s in %q = %v, want an error", unit, got)
		}
	}
}

func TestLimitOfNothing(t *testing.T) {
	var none *Limit
	if none.Set() || (&Limit{}).Set() {
		t.Error("a limit that says nothing counts as set")
	}
	if n := none.Number(Lanes); !math.IsNaN(n) {
		t.Errorf("no limit is %v lanes, want NaN", n)
	}
	width := &Limit{Relation: Min, Value: Quantity{16, Lanes}}
	if n := width.Number(GTPerSecond); !math.IsNaN(n) {
		t.Errorf("16 lanes are %v GT/s, want NaN", n)
	}
	if n := width.Number(Lanes); n != 16 {
		t.Errorf("16 lanes are %v lanes", n)
	}
}

func FuzzParseQuantity(f *testing.F) {
	for _, seed := range []string{"26.562 GB/s", "16 lanes", "8", "-8 C", "1e9 W", "9999999999999999999 B", "0.000001 %", "½ W"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := ParseQuantity(s)
		if err != nil {
			return
		}
		if q.Unit.Dimension() == "" {
			t.Fatalf("%q has unit %q, which has no dimension", s, q.Unit)
		}
		back, err := ParseQuantity(q.String())
		if err != nil || back != q {
			t.Fatalf("%q prints as %q, which reads as %v, %v", s, q, back, err)
		}
	})
}
