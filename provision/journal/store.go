package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver of database/sql

	"github.com/rackproof/rackproof/provision"
)

// schemaVersion is PRAGMA user_version of the journals that this package writes.
//
//	1 as it began
//	2 events say who wrote them
const schemaVersion = 2

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
	data    BLOB,
	who     TEXT NOT NULL DEFAULT '' -- user@host of the process that wrote it
);
CREATE INDEX events_run ON events(run, seq);
`

// timeForm sorts as text.
const timeForm = "2006-01-02T15:04:05.000000000Z"

// migrations bring a journal from the version that is their key to the next.
var migrations = map[int]string{
	0: schema,
	1: `ALTER TABLE events ADD COLUMN who TEXT NOT NULL DEFAULT ''`,
}

// openDB opens the journal file, makes it where it is not there, migrates an older
// one after a copy, and refuses a newer one.
func openDB(ctx context.Context, path string) (db *sql.DB, err error) {
	defer func() {
		if err = trouble(path, err); err != nil && db != nil {
			err = errors.Join(err, db.Close())
		}
		if _, named := errors.AsType[*Error](err); err != nil && !named {
			err = fmt.Errorf("journal %s: %w", path, err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	// Made by us first: SQLite would give it the mode of the umask.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	pragmas := url.Values{"_pragma": {"busy_timeout(15000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)"}, "_txlock": {"immediate"}}
	if db, err = sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()+"?"+pragmas.Encode()); err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4) // one writes, the others read
	if err := durable(ctx, db); err != nil {
		return db, err
	}
	return db, migrate(ctx, db, path)
}

// durable checks that what is committed survives a loss of power: SQLite passes over a
// mode that the file system cannot give.
func durable(ctx context.Context, db *sql.DB) error {
	var mode string
	var sync int
	err := errors.Join(db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode), db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&sync))
	if err == nil && (mode != "wal" || sync != fullSync) {
		err = fmt.Errorf("this file system gives it journal mode %s and synchronous %d, not wal and %d; give a folder on a local disk with --state DIR", mode, sync, fullSync)
	}
	return err
}

// fullSync is PRAGMA synchronous=FULL.
const fullSync = 2

func version(ctx context.Context, q querier) (v int, err error) {
	return v, q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
}

func migrate(ctx context.Context, db *sql.DB, path string) error {
	was, err := version(ctx, db)
	if err != nil || was == schemaVersion {
		return err
	}
	if was > schemaVersion {
		return &Error{
			File: path, What: "it was written by a newer rackproof", Do: "use that rackproof here, or give another folder with --state DIR",
			Err: fmt.Errorf("version %d, this one knows %d", was, schemaVersion),
		}
	}
	if was > 0 {
		if err := backUp(ctx, db, fmt.Sprintf("%s.v%d", path, was)); err != nil {
			return fmt.Errorf("copy it before it becomes version %d: %w", schemaVersion, err)
		}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if was, err = version(ctx, tx); err != nil {
		return err // another process may have done it meanwhile
	}
	for v := was; v < schemaVersion; v++ {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA user_version = %d", migrations[v], schemaVersion)); err != nil {
			return fmt.Errorf("from version %d to %d: %w", v, schemaVersion, err)
		}
		if v == 0 { // made as it is now
			break
		}
	}
	return tx.Commit()
}

// backUp keeps the journal whole in a file of its own, with what stands in its WAL.
func backUp(ctx context.Context, db *sql.DB, to string) (err error) {
	tmp := fmt.Sprintf("%s.%d", to, os.Getpid())
	defer func() {
		if err != nil {
			_ = os.Remove(tmp) // half a copy
		}
	}()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", tmp); err != nil {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, to)
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

func insert(ctx context.Context, q querier, e provision.Event) (provision.Event, error) {
	e.At = time.Now().UTC()
	res, err := q.ExecContext(ctx, `INSERT INTO events(at, run, machine, attempt, step, kind, data, who) VALUES(?,?,?,?,?,?,?,?)`,
		e.At.Format(timeForm), string(e.Run), e.Machine, e.Attempt, e.Step, string(e.Kind), []byte(e.Data), e.By)
	if err != nil {
		return e, fmt.Errorf("event %s of run %s: %w", e.Kind, e.Run, err)
	}
	seq, err := res.LastInsertId()
	e.Seq = provision.Seq(seq)
	return e, err
}

// selectEvents reads the events of a run behind after, in order.
func selectEvents(ctx context.Context, q querier, run provision.RunID, after provision.Seq) (out []provision.Event, err error) {
	rows, err := q.QueryContext(ctx, `SELECT seq, at, machine, attempt, step, kind, data, who FROM events WHERE run = ? AND seq > ? ORDER BY seq`, string(run), int64(after))
	if err != nil {
		return nil, fmt.Errorf("events of run %s: %w", run, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		e := provision.Event{Run: run}
		var at string
		var data []byte
		if err := rows.Scan(&e.Seq, &at, &e.Machine, &e.Attempt, &e.Step, &e.Kind, &data, &e.By); err != nil {
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
