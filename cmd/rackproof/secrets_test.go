package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretsOfAWholeRun carries a batch whose passwords stand in the columns of a
// list, with characters that JSON and logs write otherwise, gives its BMCs
// their new ones, tells a hook, and writes every report; then it searches every byte that
// was printed or written, and what the program's children could see of themselves.
func TestSecretsOfAWholeRun(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole run takes half a minute")
	}
	j := newRackJob(t)
	dir := filepath.Dir(j.batch)
	fresh := []string{`Pl4n"t\<&>%ed-One`, `Pl4n"t\<&>%ed-Two`}
	tags := filepath.Join(t.TempDir(), "tags.csv") // the one place where they are to be
	list, err := os.Create(tags)
	if err != nil {
		t.Fatal(err)
	}
	w := csv.NewWriter(list)
	rows := [][]string{{"name", "factory", "ours"}}
	for i, m := range j.rack.Machines() {
		rows = append(rows, []string{m.Name, j.rack.Login().Password, fresh[i]})
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := list.Close(); err != nil {
		t.Fatal(err)
	}
	text := string(j.rack.BatchYAML("job"))
	text = strings.Replace(text, `password: "env:RACKPROOF_SIM_PASSWORD"`, `password: "csv:`+tags+`#factory", new_password: "csv:`+tags+`#ours"`, 1)
	seen := filepath.Join(dir, "children")
	text += "notify: {command: 'cat > " + filepath.Join(dir, "notice") + "; cat /proc/$$/cmdline >> " + seen + "'}\n"
	j.write(text)
	if err := os.Unsetenv("RACKPROOF_SIM_PASSWORD"); err != nil { // it is in the list alone; t.Setenv puts it back
		t.Fatal(err)
	}
	var printed strings.Builder
	keep := func(code int, args []string, want ...string) {
		t.Helper()
		out, errs := j.does(code, args, want...)
		printed.WriteString(out + errs)
	}
	keep(exitPassed, []string{"plan", "-f", j.batch, "-v"}, "credentials: password csv:")
	keep(exitHardware, []string{"run", "-f", j.batch, "-v"}, "notified: command")
	keep(exitPassed, []string{"status", "job", "--json"})
	keep(exitPassed, []string{"report", "job", "--format", "html,json,telemetry,tar", "--out", filepath.Join(dir, "out")})
	for name, acts := range j.rack.Acts() {
		if acts["account.password"] != 1 {
			t.Errorf("%s: password set %d times", name, acts["account.password"])
		}
	}
	secrets := append([]string{j.rack.Login().Password, `Pl4n`}, fresh...)
	for _, s := range secrets {
		if i := strings.Index(printed.String(), s); i >= 0 {
			t.Errorf("a secret was printed behind …%q", printed.String()[max(0, i-200):i])
		}
	}
	if n := searchSecrets(t, dir, secrets); n < 30 || printed.Len() < 10_000 {
		t.Errorf("%d files and %d printed bytes were searched", n, printed.Len())
	}
	if b, err := os.ReadFile(filepath.Join(dir, "notice")); err != nil || !strings.Contains(string(b), `"kind":"end"`) {
		t.Errorf("notice %q, %v", b, err)
	}
}
