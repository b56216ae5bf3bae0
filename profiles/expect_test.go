package profiles

import "testing"

func TestWithExpect(t *testing.T) {
	p, err := Open().Profile("hgx-h100-8")
	if err != nil {
		t.Fatal(err)
	}
	dimms, drives, none := 24, 8, 0
	size, least := Quantity{64, GiB}, Quantity{7.68, TB}
	with, err := p.WithExpect(Expect{DIMMs: &dimms, DIMMSize: &size, Drives: &drives, DriveSize: &least, PSUs: &none}, Position{File: "batch.yaml", Line: 7, Column: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		what     string
		limit    *Limit
		relation Relation
		want     string
	}{
		{"DIMMs", with.Memory.DIMMs, Equal, "24"},
		{"DIMM size", with.Memory.DIMMSize, Equal, "64 GiB"},
		{"drives", with.NVMe.Count, Equal, "8"},
		{"drive size", with.NVMe.CapacityMin, Min, "7.68 TB"},
		{"PSUs, none expected", with.PSU.Count, Equal, "0"},
	} {
		if test.limit == nil || test.limit.Relation != test.relation || test.limit.String() != test.want ||
			test.limit.Provenance != FromAgreed || test.limit.Source != "expect of the batch" {
			t.Errorf("%s: %+v", test.what, test.limit)
		}
	}
	if with.NIC.Count.Set() || p.Memory.DIMMs.Set() || p.SHA256() == with.SHA256() {
		t.Error("what was not expected has a limit, or the model's own profile changed")
	}
	if with.GPU.Count.Source == with.Memory.DIMMs.Source {
		t.Error("a limit that the order does not mention lost its source")
	}
}

func TestWithExpectRefuses(t *testing.T) {
	p, err := Open().Profile("l40s-8")
	if err != nil {
		t.Fatal(err)
	}
	minus := -1
	size := Quantity{64, GBPerSecond}
	const want = `b.yaml:2:1: expect: nics must not be negative
b.yaml:2:1: expect: dimm_size is given in GiB: "64 GB/s" measures data rate, not data`
	_, err = p.WithExpect(Expect{NICs: &minus, DIMMSize: &size}, Position{File: "b.yaml", Line: 2, Column: 1})
	if err == nil || err.Error() != want {
		t.Errorf("\n got %v\nwant %s", err, want)
	}
}
