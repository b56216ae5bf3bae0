package burnin

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

const mdGood = `Personalities : [raid1] [raid0]
md0 : active raid1 sdb1[1] sda1[0]
      292945152 blocks super 1.2 [2/2] [UU]
      bitmap: 0/3 pages [0KB], 65536KB chunk

md1 : active raid0 nvme1n1[1] nvme0n1[0]
      7501212672 blocks super 1.2 512k chunks

unused devices: <none>
`

// md is what the probe prints of /proc/mdstat with some words changed.
func md(changes ...string) string {
	return strings.NewReplacer(changes...).Replace(mdGood) + "#raid mdstat 0\n" + raidEnd + "\n"
}

// stor is what the probe prints of one controller.
func stor(array, drive string) string {
	return "#raid no mdstat\n" +
		`{"Controllers":[{"Command Status":{"Controller":0,"Status":"Success","Description":"None"},"Response Data":{"Virtual Drives":[{"DG/VD":"0/239","TYPE":"RAID1","State":"` + array + `"}]}}]}` + "\n#raid storcli 0\n" +
		`{"Controllers":[{"Command Status":{"Controller":0,"Status":"Success","Description":"Show Drive Information Succeeded."},"Response Data":{"Drive Information":[{"EID:Slt":"252:0","State":"Onln"},{"EID:Slt":"252:1","State":"` + drive + `"}]}}]}` + "\n#raid storcli 0\n" + raidEnd + "\n"
}

const storNone = `{"Controllers":[{"Command Status":{"Controller":0,"Status":"Failure","Description":"No VDs have been configured."}}]}` + "\n#raid storcli 42\n" + raidEnd + "\n"

const ssaGood = `
HPE Example Controller in Slot 0 (Embedded)  (sn: X1)
   array A (SAS, Unused Space: 0  MB)
      logicaldrive 1 (558.7 GB, RAID 1, OK)
      physicaldrive 1I:1:1 (port 1I:box 1:bay 1, SAS HDD, 600 GB, OK)
      physicaldrive 1I:1:2 (port 1I:box 1:bay 2, SAS HDD, 600 GB, OK)
`

func ssa(changes ...string) string {
	return strings.NewReplacer(changes...).Replace(ssaGood) + "#raid ssacli 0\n" + raidEnd + "\n"
}

func TestRAID(t *testing.T) {
	const arrays, md0, md1 = "raid/arrays/disk arrays", "raid/state/disk array md0", "raid/state/disk array md1"
	const storArray, ssaArray = "raid/state/disk array controller 0 array 0/239", "raid/state/disk array slot 0 logical drive 1"
	two := countLimit(profiles.Equal, 2)
	for _, c := range []struct {
		name, out string
		limit     *profiles.Limit
		want      map[string]string
	}{
		{"good", md(), two, map[string]string{arrays: "pass", md0: "pass", md1: "pass"}},
		{"good, not in the profile", md(), nil, map[string]string{arrays: "not_applicable", md0: "pass"}},
		{"degraded", md("[2/2] [UU]", "[2/1] [U_]", "sdb1[1]", "sdb1[1](F)"), nil, map[string]string{md0: "fail", md1: "pass"}},
		{"one member short, and none named", md("[2/2] [UU]", "[2/1] [U_]"), two, map[string]string{md0: "fail"}},
		{"being rebuilt", md("[2/2] [UU]", "[2/1] [U_]\n      [==>..]  recovery = 12.6% (37043392/292945152) finish=127.5min"), nil, map[string]string{md0: "fail"}},
		{"being made alike", md("[2/2] [UU]", "[2/2] [UU]\n      [=>...]  resync = 3.1% (1/2) finish=9min"), nil, map[string]string{md0: "not_run"}},
		{"waits to be made alike", md("[2/2] [UU]", "[2/2] [UU]\n      \tresync=PENDING"), nil, map[string]string{md0: "not_run"}},
		{"being checked", md("[2/2] [UU]", "[2/2] [UU]\n      [=>...]  check = 3.1% (1/2) finish=9min"), nil, map[string]string{md0: "pass"}},
		{"stopped", md("md0 : active raid1", "md0 : inactive"), nil, map[string]string{md0: "fail"}},
		{"nothing to lose, and lost", md("nvme1n1[1]", "nvme1n1[1](F)"), nil, map[string]string{md1: "fail"}},
		{"a container of external metadata", md("md1 : active raid0", "md1 : inactive", "super 1.2 512k chunks", "super external:imsm"), countLimit(profiles.Equal, 1), map[string]string{arrays: "pass", md0: "pass"}},
		{"one array too few", md(), countLimit(profiles.Equal, 3), map[string]string{arrays: "fail"}},
		{"cut", md()[:120], two, map[string]string{arrays: "not_run"}},
		{"cut, and none in the profile", md()[:120], nil, map[string]string{arrays: "not_run"}},
		{"cut behind a fault", md("[2/2] [UU]", "[2/1] [U_]")[:130], two, map[string]string{arrays: "not_run", md0: "fail"}},
		{"none, and none wanted", "Personalities :\nunused devices: <none>\n#raid mdstat 0\n" + raidEnd + "\n", nil, map[string]string{arrays: "not_applicable"}},
		{"none, and two wanted", "Personalities :\nunused devices: <none>\n#raid mdstat 0\n" + raidEnd + "\n", two, map[string]string{arrays: "fail"}},
		{"nobody to ask, and two wanted", "#raid no mdstat\n" + raidEnd + "\n", two, map[string]string{arrays: "not_run"}},
		{
			"none shown, and a controller that nobody asked", "#raid no mdstat\n#raid controller 0000:03:00.0 1000 megaraid_sas\n" + raidEnd + "\n", two,
			map[string]string{arrays: "not_run", "raid/controller/RAID controller 0000:03:00.0": "not_run"},
		},
		{"a device that only passes drives on", "#raid no mdstat\n#raid controller 0000:03:00.0 8086 vmd\n" + raidEnd + "\n", nil, map[string]string{arrays: "not_applicable"}},
		{"a controller's array", stor("Optl", "Onln"), countLimit(profiles.Equal, 1), map[string]string{arrays: "pass", storArray: "pass"}},
		{"a controller's array, degraded", stor("Dgrd", "Offln"), nil, map[string]string{storArray: "fail", "raid/drive/drive, controller 0 slot 252:1": "fail"}},
		{"a controller's array, partially degraded", stor("Pdgd", "Rbld"), nil, map[string]string{storArray: "fail", "raid/drive/drive, controller 0 slot 252:1": "warn"}},
		{"a state that nobody knows", stor("Xyz", "Onln"), nil, map[string]string{storArray: "not_run"}},
		{"a controller without arrays", storNone, nil, map[string]string{arrays: "not_applicable"}},
		{"a controller that fails", strings.Replace(storNone, "No VDs have been configured.", "Un-supported command", 1), two, map[string]string{arrays: "not_run"}},
		{"a controller's JSON, cut", stor("Optl", "Onln")[:200], two, map[string]string{arrays: "not_run"}},
		{"a logical drive", ssa(), countLimit(profiles.Equal, 1), map[string]string{arrays: "pass", ssaArray: "pass"}},
		{
			"a logical drive that lives on", ssa("RAID 1, OK", "RAID 1, Interim Recovery Mode", "bay 2, SAS HDD, 600 GB, OK", "bay 2, SAS HDD, 600 GB, Failed"), nil,
			map[string]string{ssaArray: "fail", "raid/drive/drive, slot 0 bay 1I:1:2": "fail"},
		},
		{"something else", "hello\n", two, map[string]string{arrays: "not_run"}},
		{"nothing", "", two, map[string]string{arrays: "not_run"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &profiles.Profile{RAID: profiles.RAID{Arrays: c.limit}}
			wantAnswers(t, judged(t, phases("raid", c.out, ""), p, newGPUParts, raid), c.want, true)
		})
	}
	p := &profiles.Profile{}
	wantAnswers(t, judged(t, phases("raid", md(), md("[2/2] [UU]", "[2/1] [_U]")), p, newGPUParts, raid), map[string]string{md0: "fail", md1: "pass"}, true)
	wantAnswers(t, judged(t, looseHost(map[string][]byte{"raid": []byte(mdGood)}), p, newGPUParts, raid), map[string]string{md0: "pass"}, true)
}

// The script lists the controllers of a /sys of the test, and asks the tools that are there.
func TestRAIDScript(t *testing.T) {
	root := fakeSys(t, map[string]string{
		"bus/pci/devices/0000:03:00.0/class": "0x010400\n", "bus/pci/devices/0000:03:00.0/vendor": "0x1000\n", "bus/pci/drivers/megaraid_sas/bind": "",
		"bus/pci/devices/0000:04:00.0/class": "0x010802\n", "bus/pci/devices/0000:04:00.0/vendor": "0x144d\n", "mdstat": mdGood,
	}, map[string]string{"bus/pci/devices/0000:03:00.0/driver": "bus/pci/drivers/megaraid_sas"})
	for _, shell := range shells() {
		script := strings.NewReplacer("/sys/", root+"/", "/proc/mdstat", root+"/mdstat").Replace(raidScript)
		r, err := parseRAIDStatus(runHere(t, shell, script))
		if err != nil || !r.Complete || len(r.Arrays) != 2 || len(r.Failed) != 0 {
			t.Fatalf("%s: %+v, %v", shell, r, err)
		}
		want := RAIDController{Address: "0000:03:00.0", Vendor: "1000", Driver: "megaraid_sas"}
		if len(r.Controllers) != 1 || r.Controllers[0] != want {
			t.Errorf("%s: controllers %+v", shell, r.Controllers)
		}
	}
}

func FuzzRAID(f *testing.F) {
	fuzzParser(f, "raid", md(), stor("Dgrd", "Offln"), ssa(), mdGood[:90])
}
