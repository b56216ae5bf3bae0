package provision

import (
	"slices"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/burnin"
)

func TestBatchWipe(t *testing.T) {
	text := func(a, b string) string {
		return "name: a\nprofile: a40-4\nspec: erasure\nworkflow: wipe\nmachines:\n  - {name: m1, bmc: 10.0.0.1, wipe: " + a + "}\n  - {name: m2, bmc: 10.0.0.2, wipe: " + b + "}\n"
	}
	b, err := parse(t, text("{disks: [S1, S2], level: purge}", "{disks: [S3], level: clear}"))
	if err != nil {
		t.Fatal(err)
	}
	if w := b.Machines[0].Wipe; w == nil || !slices.Equal(w.Disks, []string{"S1", "S2"}) || w.Level != burnin.WipePurge || w.Operator != "" {
		t.Errorf("wipe %+v", w)
	}
	flow, err := b.Flow()
	if err != nil || !slices.Equal(b.Machines[0].Written(flow), []string{"S1", "S2"}) || len(b.Machines[0].Written(Qualify())) != 0 {
		t.Errorf("written %v, by qualify %v, %v", b.Machines[0].Written(flow), b.Machines[0].Written(Qualify()), err)
	}
	for _, test := range []struct{ a, b, want string }{
		{"{disks: [S1], level: shred}", "{disks: [S3], level: clear}", "batch.yaml:6:37: wipe: state a level: purge (by the drive's own sanitize command), or clear"},
		{"{disks: [S1]}", "{disks: [S3], level: clear}", "batch.yaml:6:37: wipe: state a level"},
		{"{level: purge}", "{disks: [S3], level: clear}", "batch.yaml:6:37: wipe: name the disks by their serial numbers"},
		{"{disks: [/dev/sda], level: purge}", "{disks: [S3], level: clear}", `wipe: "/dev/sda" is no serial number of a disk`},
		{"{disks: ['*'], level: purge}", "{disks: [S3], level: clear}", `wipe: "*" is no serial number of a disk`},
		{"{disks: [S1, S1], level: purge}", "{disks: [S3], level: clear}", "wipe: disk S1 is named twice"},
		{"{disks: [S1], level: purge}", "{disks: [S1], level: purge}", "batch.yaml:7:37: wipe: disk S1 of m2 is named at m1 too"},
		{"{disks: [S1], level: purge, all: true}", "{disks: [S3], level: clear}", `unknown key "all"`},
	} {
		if _, err := parse(t, text(test.a, test.b)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s and %s: error\n%v\nwant %s", test.a, test.b, err, test.want)
		}
	}
}
