// Package enginetest is the suite that every engine passes: submit, resume,
// cancel, stop, watch, retest, and an end at every single event, after which
// nothing may have happened twice.
//
// Its machines are a World of counters, and its steps go through the real Bench,
// so that intents and marks are tested as they are used.
package enginetest
