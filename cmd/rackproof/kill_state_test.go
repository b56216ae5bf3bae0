package main

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rackproof/rackproof/burnin"
	"github.com/rackproof/rackproof/provision"
	"github.com/rackproof/rackproof/provision/journal"
)

// witness compares how killed lives leave a batch with how those before them left it.
type witness struct {
	*killRun
	run   provision.Run   // as it was left last
	still int             // kills since a step ended
	files map[string]file // in the folders of machines that are over, by path
}

// file is what a file was when it was last looked at.
type file struct {
	changed time.Time
	size    int64
	sum     [sha256.Size]byte
}

// look looks at what a kill left behind: a journal that is sound and has lost nothing, results
// that stand, and evidence that belongs to its hashes. It reports whether the run was
// written down at all. With all it reads every file, not only those that changed.
func (w *witness) look(all bool) bool {
	w.t.Helper()
	run, ok := w.journal()
	if !ok {
		if w.run.Seq > 0 {
			w.t.Error("the run is no longer in the journal")
		}
		return false
	}
	if run.Seq < w.run.Seq {
		w.t.Errorf("the journal ends at event %d, it was at %d before", run.Seq, w.run.Seq)
	}
	for _, was := range w.run.Machines {
		now := run.Find(was.Machine.Name)
		if was.Over() && (now.State != was.State || now.Result != was.Result || now.Attempt != was.Attempt) {
			w.t.Errorf("%s was %s in attempt %d, now it is %s in %d", was.Machine.Name, was.State, was.Attempt, now.State, now.Attempt)
		}
	}
	w.unchanged(all) // what belongs to machines that were over before this life
	if w.still++; ended(&run) > ended(&w.run) {
		w.still = 0
	}
	w.run = run
	since := time.Time{}
	if !all {
		since = w.began
	}
	w.filesWhole(since)
	w.remember()
	return true
}

// journal folds a copy of the journal: the next life finds its own as the kill left it.
func (w *witness) journal() (run provision.Run, ok bool) {
	w.t.Helper()
	copied, err := os.MkdirTemp(w.dir, "look")
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(copied) }()
	for _, name := range []string{"journal.db", "journal.db-wal"} {
		b, err := os.ReadFile(filepath.Join(w.state(), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, os.WriteFile(filepath.Join(copied, name), b, 0o600)); err != nil {
			w.t.Fatal(err)
		}
	}
	w.sound(filepath.Join(copied, "journal.db"))
	e, err := journal.Open(w.t.Context(), copied, journal.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	runs, err := e.Runs(w.t.Context())
	if err != nil || len(runs) == 0 {
		w.noError(err)
		return run, false
	}
	run, err = e.Run(w.t.Context(), runs[0])
	w.noError(err)
	return run, true
}

func (w *witness) noError(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Error(err)
	}
}

// unchanged looks whether the files of machines that were over before are as they were.
func (w *witness) unchanged(all bool) {
	w.t.Helper()
	for path, was := range w.files {
		info, err := os.Stat(path)
		if err != nil {
			w.t.Error(err)
			continue
		}
		if !all && info.ModTime().Equal(was.changed) && info.Size() == was.size {
			continue
		}
		if b, err := os.ReadFile(path); err != nil || sha256.Sum256(b) != was.sum {
			w.t.Errorf("%s was changed after its machine was over: %v", path, err)
		}
	}
}

// remember takes in the files of machines that are over now.
func (w *witness) remember() {
	w.t.Helper()
	if w.files == nil {
		w.files = map[string]file{}
	}
	for _, m := range w.run.Machines {
		if !m.Over() {
			continue
		}
		dir := provision.AttemptDir(w.state(), w.run.ID, m.Machine.Name, m.Attempt)
		w.noError(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if _, known := w.files[path]; known || err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			b, err := os.ReadFile(path)
			w.files[path] = file{info.ModTime(), info.Size(), sha256.Sum256(b)}
			return err
		}))
	}
}

// stand is how far the run is: how many machines are in which step.
func (w *witness) stand() string {
	in := map[string]int{}
	for _, m := range w.run.Machines {
		in[or(m.Step, "over")]++
	}
	return fmt.Sprintf("event %d, %v", w.run.Seq, in)
}

// ended counts the steps of a run that have ended.
func ended(run *provision.Run) (n int) {
	for _, m := range run.Machines {
		n += len(m.Steps)
	}
	return n
}

// tear makes the kill a loss of power while the next event was written: behind what is
// committed, the journal's WAL has a page that is cut anywhere and half of something else.
func (k *killRun) tear(moments *rand.Rand) {
	k.t.Helper()
	const header, frame = 32, 24 + 4096
	path := filepath.Join(k.state(), "journal.db-wal")
	wal, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(wal) < header+frame {
		return // nothing was written since it was last copied back
	}
	if err != nil {
		k.t.Fatal(err)
	}
	frames := (len(wal) - header) / frame
	torn := bytes.Clone(wal[header+(frames-1)*frame:][:frame]) // with the salt of its time
	for i := 24 + moments.IntN(frame-24); i < frame; i++ {
		torn[i] ^= 0x5a
	}
	wal = append(wal[:header+frames*frame], torn[:1+moments.IntN(frame)]...)
	if err := os.WriteFile(path, wal, 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// sound looks whether SQLite finds the journal in a file sound.
func (k *killRun) sound(file string) {
	k.t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var word string
	if err := db.QueryRowContext(k.t.Context(), "PRAGMA integrity_check").Scan(&word); err != nil || word != "ok" {
		k.t.Fatalf("journal: %q, %v", word, err)
	}
}

// whole looks at the state folder as a rackproof left it.
func (k *killRun) whole() {
	k.t.Helper()
	if file := filepath.Join(k.state(), "journal.db"); exists(file) {
		k.sound(file)
	}
	k.filesWhole(time.Time{})
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// filesWhole looks at what was written since: no file is half written, and evidence
// belongs to its hashes.
func (k *killRun) filesWhole(since time.Time) {
	k.t.Helper()
	err := filepath.WalkDir(k.state(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") || filepath.Ext(path) != ".json" {
			return err
		}
		if info, err := d.Info(); err != nil || info.ModTime().Before(since) {
			return err
		}
		b, err := os.ReadFile(path)
		if !json.Valid(b) {
			k.t.Errorf("%s is half written: %.60q", path, b)
		}
		if d.Name() == "evidence.json" && err == nil {
			_, err = burnin.LoadRecord(filepath.Dir(path)) // checks every hash
		}
		return err
	})
	if err != nil {
		k.t.Error(err)
	}
}
