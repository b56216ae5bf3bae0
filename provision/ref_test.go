package provision

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestRef(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("RACKPROOF_TEST_SECRET", "from-env")
	list := write("list.csv", "name,bmc_password\nr1u01,one\nr1u02,two\n")
	for _, test := range []struct {
		ref, machine, want, fails string
	}{
		{ref: "env:RACKPROOF_TEST_SECRET", want: "from-env"},
		{ref: "env:RACKPROOF_TEST_NOT_SET", fails: "export RACKPROOF_TEST_NOT_SET"},
		{ref: "file:" + write("password", "from-file\n"), want: "from-file"},
		{ref: "file:" + write("key", "line one\nline two\n"), want: "line one\nline two\n"},
		{ref: "file:" + write("empty", "\n"), fails: "is empty"},
		{ref: "file:" + filepath.Join(dir, "absent"), fails: "no such file"},
		{ref: "csv:" + list + "#bmc_password", machine: "r1u02", want: "two"},
		{ref: "csv:" + list + "#bmc_password", machine: "r1u03", fails: "no row"},
		{ref: "csv:" + list + "#other", machine: "r1u01", fails: "columns name and other"},
		{ref: "command:echo from-command", want: "from-command"},
		{ref: "command:printf 'secret-in-%s' stderr >&2; exit 3", fails: "run it by hand"},
		{ref: planted, fails: "must be a reference"},
	} {
		if runtime.GOOS == "windows" && strings.HasPrefix(test.ref, "command:") {
			continue
		}
		got, err := Ref(test.ref).ResolveFor(t.Context(), test.machine)
		if got != test.want || (err != nil) != (test.fails != "") {
			t.Errorf("%s: %q, %v", test.ref, got, err)
			continue
		}
		if err != nil && (!strings.Contains(err.Error(), test.fails) || strings.Contains(err.Error(), planted) || strings.Contains(err.Error(), "secret-in-stderr")) {
			t.Errorf("%s: error %q, want it to say %q and no secret", test.ref, err, test.fails)
		}
		if cerr := Ref(test.ref).Check(test.machine); strings.HasPrefix(test.ref, "env:") && (cerr != nil) != (test.fails != "") {
			t.Errorf("%s: Check says %v", test.ref, cerr)
		}
	}
}
