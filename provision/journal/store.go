package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver of database/sql

	"github.com/rackproof/rackproof/provision"
)

// schemaVersion is PRAGMA user_version of the journals that this package writes.
const schemaVersion = 1

const schema = `
CREATE TABLE runs (
	id      TEXT PRIMARY KEY,
	name    TEXT NOT NULL, -- of the batch
	started TEXT NOT NULL
);
CREATE TABLE events (
	seq     INTEGER PRIMARY KEY AUTOINCREMENT,
	at      TEXT NOT NULL,
	run     TEXT NOT NULL REFERENCES runs(id),
	machine TEXT NOT NULL,
	attempt INTEGER NOT NULL,
	step    TEXT NOT NULL,
	kind    TEXT NOT NULL,
	data    BLOB
);
CREATE INDEX events_run ON events(run, seq);
`

// timeForm sorts as text.
const timeForm = "2006-01-02T15:04:05.000000000Z"

// openDB opens the journal file, makes it where it is not there, migrates an older
// one after a copy, and refuses a newer one.
func openDB(ctx context.Context, path string) (*sql.DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	// Made by us first: SQLite would give it the mode of the umask.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	pragmas := url.Values{"_pragma": {"busy_timeout(15000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()+"?"+pragmas.Encode())
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	if err := migrate(ctx, db, path); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), db.Close())
	}
	return db, nil
}

func migrate(ctx context.Context, db *sql.DB, path string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	switch {
	case version == schemaVersion:
		return nil
	case version > schemaVersion:
		return fmt.Errorf("it was written by a newer rackproof (version %d, this one knows %d); use that one", version, schemaVersion)
	case version > 0:
		if err := backUp(path, version); err != nil {
			return err
		}
		return fmt.Errorf("version %d of it cannot be read any more", version)
	}
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)); err != nil {
		return err
	}
	return tx.Commit()
}

// backUp keeps the journal as it was before a migration.
func backUp(path string, version int) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(fmt.Sprintf("%s.v%d", path, version), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

func insert(ctx context.Context, q querier, e provision.Event) (provision.Event, error) {
	e.At = time.Now().UTC()
	res, err := q.ExecContext(ctx, `INSERT INTO events(at, run, machine, attempt, step, kind, data) VALUES(?,?,?,?,?,?,?)`,
		e.At.Format(timeForm), string(e.Run), e.Machine, e.Attempt, e.Step, string(e.Kind), []byte(e.Data))
	if err != nil {
		return e, fmt.Errorf("event %s of run %s: %w", e.Kind, e.Run, err)
	}
	seq, err := res.LastInsertId()
	e.Seq = provision.Seq(seq)
	return e, err
}

// selectEvents reads the events of a run behind after, in order.
func selectEvents(ctx context.Context, q querier, run provision.RunID, after provision.Seq) (out []provision.Event, err error) {
	rows, err := q.QueryContext(ctx, `SELECT seq, at, machine, attempt, step, kind, data FROM events WHERE run = ? AND seq > ? ORDER BY seq`, string(run), int64(after))
	if err != nil {
		return nil, fmt.Errorf("events of run %s: %w", run, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		e := provision.Event{Run: run}
		var at string
		var data []byte
		if err := rows.Scan(&e.Seq, &at, &e.Machine, &e.Attempt, &e.Step, &e.Kind, &data); err != nil {
			return nil, fmt.Errorf("events of run %s: %w", run, err)
		}
		if e.At, err = time.Parse(timeForm, at); err != nil {
			return nil, fmt.Errorf("event %d of run %s: %w", e.Seq, run, err)
		}
		if len(data) > 0 {
			e.Data = data
		}
		out = append(out, e)
	}
	return out, rows.Err()
}
