package journal

import (
	"errors"
	"fmt"
	"io/fs"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/rackproof/rackproof/provision"
)

// Error says what is wrong with a journal file, and what a person does about it. What was
// written before is still in it.
type Error struct {
	File string
	What string
	Do   string
	Err  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("journal %s: %s: %v", e.File, e.What, e.Err)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// trouble makes an Error of what the journal's file or its disk is to blame for; every
// other error stays as it is.
func trouble(file string, err error) error {
	if _, named := errors.AsType[*Error](err); named || err == nil {
		return err
	}
	code := 0
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code = e.Code()
	}
	free := "free space there, then `rackproof resume`: what was written is whole, and the run goes on from it"
	writable := "make the folder yours and writable (mount, chown, chmod 0700), or give another with --state DIR"
	for _, known := range []struct {
		hit      bool
		what, do string
	}{
		{code&0xff == lib.SQLITE_FULL || code == lib.SQLITE_IOERR_SHMSIZE, "the disk is full", free},
		{code&0xff == lib.SQLITE_READONLY || code&0xff == lib.SQLITE_CANTOPEN || errors.Is(err, fs.ErrPermission), "it cannot be written", writable},
		{code&0xff == lib.SQLITE_BUSY || code&0xff == lib.SQLITE_LOCKED, "another process has kept it locked", "see which with `fuser " + file + "`, then do the same again"},
		{
			code&0xff == lib.SQLITE_CORRUPT || code&0xff == lib.SQLITE_NOTADB, "it is damaged",
			"copy " + file + "* away first. The evidence under runs/ is whole: `rackproof report DIR` reads it without the journal. Then put a copy of the journal back, or go on with another --state DIR",
		},
		{code&0xff == lib.SQLITE_IOERR, "the disk did not do what it was asked", "save the state folder, then look at the disk (df, dmesg, smartctl); afterwards `rackproof resume`"},
	} {
		if known.hit {
			return &Error{File: file, What: known.what, Do: known.do, Err: err}
		}
	}
	if what, do, ok := provision.DiskTrouble(err); ok {
		return &Error{File: file, What: what, Do: do, Err: err}
	}
	return err
}
