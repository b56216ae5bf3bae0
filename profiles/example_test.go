package profiles_test

import (
	"fmt"

	"github.com/rackproof/rackproof/profiles"
)

func ExampleLibrary_Profile() {
	p, err := profiles.Open().Profile("hgx-h100-8")
	if err != nil {
		fmt.Println(err)
		return
	}
	rate := p.NVLink.Rate
	fmt.Println(p.Title)
	fmt.Printf("%s links of %s %s (%s)\n", p.NVLink.Links, rate.Relation, rate, rate.Provenance)
	fmt.Println(p.PSU.Count.Set())
	// Output:
	// HGX H100, eight H100 SXM5 80 GB
	// 18 links of min 26.562 GB/s (measured)
	// false
}

func ExampleParseProfile() {
	_, err := profiles.ParseProfile("ours.yaml", []byte(`schema: rackproof/profile/1
name: ours
extends: [hgx-h100-8, cpu/epyc-9005-2p]
psu:
  count: {equal: 6, provenence: agreed, source: order 4711}
`), profiles.Open())
	fmt.Println(err)
	// Output:
	// ours.yaml:5:10: count has no provenance; say where the limit comes from: spec, vendor, measured, derived, agreed
	// ours.yaml:5:21: unknown key "provenence", did you mean "provenance"?
}
