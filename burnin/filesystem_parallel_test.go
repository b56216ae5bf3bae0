package burnin

import (
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
)

const mountsGood = `sysfs /sys sysfs rw,nosuid 0 0
10.0.0.1@o2ib:10.0.0.2@o2ib:/scratch /lustre/scratch lustre rw,checksum,flock 0 0
fs1 /gpfs/fs1 gpfs rw,relatime 0 0
#fs mounts 0
mmlsmount::HEADER:version:
#fs mmlsmount 0
scratch-OST0000-osc-ffff active.
#fs lfs-check 0
scratch-OST0000_UUID 100 10 90 10% /lustre/scratch[OST:0]
#fs lfs-df 0
` + filesystemsEnd + "\n"

func TestFilesystemParallel(t *testing.T) {
	const lustre, servers, gpfs = "filesystem.parallel/mounted/filesystem /lustre/scratch", "filesystem.parallel/servers/filesystem /lustre/scratch", "filesystem.parallel/mounted/filesystem /gpfs/fs1"
	words := func(w ...string) *profiles.Limit { return &profiles.Limit{Relation: profiles.OneOf, Text: w} }
	both := profiles.Filesystem{Mounts: words("/lustre/scratch", "/gpfs/fs1"), Types: words("lustre", "gpfs")}
	swapped := func(old, with string) string { return strings.Replace(mountsGood, old, with, 1) }
	for _, c := range []struct {
		name, out string
		want      profiles.Filesystem
		answers   map[string]string
	}{
		{"good", mountsGood, both, map[string]string{lustre: "pass", servers: "pass", gpfs: "pass", "filesystem.parallel/servers/filesystem /gpfs/fs1": "pass"}},
		{"not mounted", swapped("fs1 /gpfs/fs1 gpfs rw,relatime 0 0\n", ""), both, map[string]string{gpfs: "fail", lustre: "pass"}},
		{"for reading only", swapped("lustre rw", "lustre ro"), both, map[string]string{lustre: "fail"}},
		{"another filesystem in its place", swapped("/gpfs/fs1 gpfs", "/gpfs/fs1 ext4"), both, map[string]string{gpfs: "fail"}},
		{"a target that is gone", swapped("scratch-OST0000_UUID 100 10 90 10% /lustre/scratch[OST:0]", "scratch-OST0001_UUID    : inactive device"), both, map[string]string{servers: "fail", lustre: "pass"}},
		{"a target of another filesystem", swapped("scratch-OST0000_UUID 100 10 90 10% /lustre/scratch[OST:0]", "home-OST0001_UUID    : inactive device"), both, map[string]string{servers: "pass"}},
		{"no lfs", strings.NewReplacer("#fs lfs-check 0\n", "", "#fs lfs-df 0\n", "").Replace(mountsGood), both, map[string]string{servers: "not_run", lustre: "pass"}},
		{"lfs failed", swapped("#fs lfs-check 0", "#fs lfs-check 11"), both, map[string]string{servers: "not_run"}},
		{"no mmlsmount", swapped("#fs mmlsmount 0\n", ""), both, map[string]string{"filesystem.parallel/servers/filesystem /gpfs/fs1": "not_run"}},
		{"cut", mountsGood[:60], both, map[string]string{lustre: "not_run", gpfs: "not_run"}},
		{"something else", "hello\n", both, map[string]string{lustre: "not_run", servers: "not_run", gpfs: "not_run", "filesystem.parallel/servers/filesystem /gpfs/fs1": "not_run"}},
		{"nothing", "", both, map[string]string{lustre: "not_run", gpfs: "not_run"}},
		{"none in the profile", mountsGood, profiles.Filesystem{}, map[string]string{"filesystem.parallel/mounted/filesystem of the order": "not_applicable"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantAnswers(t, judged(t, phases("filesystems", c.out, ""), &profiles.Profile{Filesystem: c.want}, newGPUParts, filesystemParallel), c.answers, true)
		})
	}
	if Filesystems.Spec.Command(nil) != "" || Filesystems.Spec.Command(&profiles.Profile{Filesystem: both}) == "" {
		t.Error("mounts are asked for where the profile names some, and only there")
	}
}

func FuzzFilesystems(f *testing.F) {
	fuzzParser(f, "filesystems", mountsGood, "x : inactive device\n", "a /b\\040c nfs rw 0 0\n")
}
