package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/profiles"
	"github.com/rackproof/rackproof/provision"
)

// Help and docs list every workflow with its steps, and every step with what it does.
func TestWorkflowsAreTold(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "batch.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, help := string(b), strings.Join(strings.Fields(workflowHelp()), " ")
	for _, w := range provision.Workflows() {
		steps := strings.Join(w.Names(), ", ")
		if row := "| `" + w.Name + "` | " + w.About + " | " + steps + " |"; !strings.Contains(page, row) {
			t.Errorf("docs/batch.md has no row %s", row)
		}
		if text := w.Name + " " + w.About + ": " + steps; !strings.Contains(help, text) {
			t.Errorf("help does not say %s:\n%s", text, workflowHelp())
		}
	}
	rows := 0
	for _, s := range provision.Steps() {
		rows++
		if row := "| `" + s.Step.Name() + "` | " + s.About + " |\n"; !strings.Contains(page, row) {
			t.Errorf("docs/batch.md has no row %s", row)
		}
	}
	_, table, _ := strings.Cut(page, "| step | does |\n| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if n := strings.Count(table, "\n") + 1; n != rows {
		t.Errorf("docs/batch.md lists %d steps, there are %d", n, rows)
	}
	for line := range strings.SplitSeq(workflowHelp(), "\n") {
		if len(line) > 86 {
			t.Errorf("a line of help has %d letters: %s", len(line), line)
		}
	}
}

// The workflow that the page shows loads, and shows every key that there is.
func TestWorkflowOfTheDocs(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "batch.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(workflow:\n.*?)```").FindStringSubmatch(string(b))
	if block == nil {
		t.Fatal("the page shows no workflow of its own")
	}
	t.Setenv("BMC_USER", "admin")
	t.Setenv("BMC_PASSWORD", "secret")
	batch, err := provision.ParseBatch("batch.yaml", []byte("name: a\nprofile: a40-4\nmachines: [{name: m, bmc: 10.0.0.1}]\n"+block[1]), profiles.Open())
	if err != nil {
		t.Fatal(err)
	}
	if batch.Workflow != "night" || len(batch.Own.Steps) != 8 || batch.Own.Version != 2 {
		t.Errorf("workflow %+v", batch.Own)
	}
	for _, key := range []string{"name:", "steps:", "step:", "tries:", "timeout:", "backoff:", "when:", "model:", "fact:", "is:"} {
		if !strings.Contains(block[1], key) {
			t.Errorf("the page does not show %s", key)
		}
	}
}
