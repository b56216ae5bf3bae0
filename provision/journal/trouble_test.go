package journal

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rackproof/rackproof/provision"
)

// filled makes a journal with events of a run, closes it and gives its file.
func filled(t *testing.T, events int) string {
	t.Helper()
	state := t.TempDir()
	e, err := Open(t.Context(), state, Options{})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, e, events)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(state, "journal.db")
}

func fill(t *testing.T, e *Engine, events int) {
	t.Helper()
	b := &provision.Batch{Name: "job", Machines: []provision.Machine{{Name: "m1"}}}
	if _, err := e.Submit(t.Context(), b, provision.Workflow{Name: "none"}); err != nil {
		t.Fatal(err)
	}
	for i := range events - 1 {
		ev, err := provision.NewEvent("job", "m1", provision.Progressed, provision.Progress{Text: fmt.Sprintf("%d %s", i, strings.Repeat("x", 500))})
		if err != nil {
			t.Fatal(err)
		}
		ev.Attempt = 1
		if err := e.append(t.Context(), ev); err != nil {
			t.Fatal(err)
		}
	}
}

// count opens the journal of a file and counts the events of its run.
func count(t *testing.T, file string) (int, error) {
	t.Helper()
	e, err := Open(t.Context(), filepath.Dir(file), Options{})
	if err != nil {
		return 0, err
	}
	defer func() { _ = e.Close() }()
	if _, err := e.Run(t.Context(), "job"); err != nil {
		return 0, err
	}
	events, err := selectEvents(t.Context(), e.db, "job", 0)
	return len(events), err
}

// said checks that err names the file, what is wrong, and what to do.
func said(t *testing.T, err error, file, what, do string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("no word of the journal: %v", err)
	}
	if e.File != file || !strings.Contains(e.Error(), file) || !strings.Contains(e.Error(), what) || !strings.Contains(e.Do, do) {
		t.Errorf("%q and what to do: %q; want %s, %q and %q", e, e.Do, file, what, do)
	}
}

// A full disk keeps an event from being written, and says so; what was written stays,
// and with space it goes on.
func TestFull(t *testing.T) {
	file := filled(t, 40)
	e, err := Open(t.Context(), filepath.Dir(file), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	e.db.SetMaxOpenConns(1) // the limit is one connection's
	limit := func(pages int) {
		if _, err := e.db.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	var written int
	limit(1) // no less than it has
	ev := provision.Event{Run: "job", Machine: "m1", Attempt: 1, Kind: provision.Progressed, Data: []byte(`{"text":"` + strings.Repeat("x", 3000) + `"}`)}
	for ; err == nil && written < 100; written++ {
		err = e.append(t.Context(), ev)
	}
	said(t, err, file, "the disk is full", "free space")
	limit(1000)
	if err := e.append(t.Context(), ev); err != nil {
		t.Errorf("with space again: %v", err)
	}
	if n, err := count(t, file); err != nil || n != 40+written {
		t.Errorf("%d events, %v, want %d", n, err, 40+written)
	}
}

func TestDamaged(t *testing.T) {
	for name, damage := range map[string]func([]byte){
		"no journal at all": func(b []byte) { copy(b, "this is a text") },
		"page of zeros":     func(b []byte) { clear(b[4096 : len(b)-4096]) },
		"page of rubbish": func(b []byte) {
			for i := 4096; i < len(b); i++ {
				b[i] = byte(i * 7)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filled(t, 100)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			damage(b)
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err = count(t, file)
			said(t, err, file, "it is damaged", "rackproof report DIR")
			if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, b) {
				t.Errorf("the damaged journal was changed: %v", err)
			}
		})
	}
}

// The power goes while the next event is written: its pages in the WAL are cut or torn
// anywhere, with the salt of those before them. Every event before it is there.
func TestTornPage(t *testing.T) {
	state := t.TempDir()
	e, err := Open(t.Context(), state, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	fill(t, e, 30)
	journal, err1 := os.ReadFile(filepath.Join(state, "journal.db"))
	wal, err2 := os.ReadFile(filepath.Join(state, "journal.db-wal"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	const header, frame = 32, 24 + 4096
	if len(wal) < header+frame || (len(wal)-header)%frame != 0 {
		t.Fatalf("%d bytes of WAL", len(wal))
	}
	last := wal[len(wal)-frame:]
	for _, cut := range []int{1, 23, 24, 25, 24 + 512, frame - 1, frame} {
		torn := bytes.Clone(last[:cut])
		if cut > 24 { // half of the page came from what was there before
			clear(torn[24+(cut-24)/2:])
			torn[24] ^= 0xff
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "journal.db")
		if err := errors.Join(os.WriteFile(file, journal, 0o600), os.WriteFile(file+"-wal", append(bytes.Clone(wal), torn...), 0o600)); err != nil {
			t.Fatal(err)
		}
		if n, err := count(t, file); err != nil || n != 30 {
			t.Errorf("torn after %d bytes: %d events, %v, want 30", cut, n, err)
		}
	}
	// It goes while the WAL is copied back: a page of the journal is half old, half new.
	page := int(binary.BigEndian.Uint32(last)) - 1
	torn := append(bytes.Clone(journal), make([]byte, max(0, (page+1)*4096-len(journal)))...)
	copy(torn[page*4096+2048:], bytes.Repeat([]byte{0xa5}, 2048))
	dir := t.TempDir()
	file := filepath.Join(dir, "journal.db")
	if err := errors.Join(os.WriteFile(file, torn, 0o600), os.WriteFile(file+"-wal", wal, 0o600)); err != nil {
		t.Fatal(err)
	}
	if n, err := count(t, file); err != nil || n != 30 {
		t.Errorf("torn page %d of the journal: %d events, %v, want 30", page, n, err)
	}
}

func TestNewer(t *testing.T) {
	file := filled(t, 2)
	exec(t, file, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion+1))
	_, err := count(t, file)
	said(t, err, file, "newer rackproof", "use that rackproof")
}

// A journal of the first version is copied whole, also what stands in its WAL, and
// then carried on with nothing lost.
func TestOlder(t *testing.T) {
	file := filled(t, 20)
	exec(t, file, "ALTER TABLE events DROP COLUMN who; PRAGMA user_version = 1")
	for range 2 {
		if n, err := count(t, file); err != nil || n != 20 {
			t.Fatalf("%d events, %v, want 20", n, err)
		}
	}
	db := open(t, file+".v1")
	var events, who, version int
	err := errors.Join(
		db.QueryRowContext(t.Context(), "SELECT count(*) FROM events").Scan(&events),
		db.QueryRowContext(t.Context(), "SELECT count(*) FROM pragma_table_info('events') WHERE name = 'who'").Scan(&who),
		db.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&version),
	)
	if err != nil || events != 20 || who != 0 || version != 1 {
		t.Errorf("the copy has %d events, %d columns who, version %d: %v", events, who, version, err)
	}
	for _, f := range []string{file, file + ".v1"} {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
}

func open(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func exec(t *testing.T, file, query string) {
	t.Helper()
	if _, err := open(t, file).ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

// Every connection writes durably.
func TestDurable(t *testing.T) {
	db, err := openDB(t.Context(), filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 3 {
		conn, err := db.Conn(ctx) // held, so that the next is another
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		var mode string
		var sync int
		err = errors.Join(conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode), conn.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&sync))
		if err != nil || mode != "wal" || sync != 2 {
			t.Errorf("journal mode %s, synchronous %d, %v", mode, sync, err)
		}
	}
	exec(t, filepath.Join(t.TempDir(), "other.db"), "PRAGMA journal_mode = DELETE")
	if other := open(t, filepath.Join(t.TempDir(), "other.db")); durable(t.Context(), other) == nil {
		t.Error("a journal that is no WAL is taken for durable")
	}
}
