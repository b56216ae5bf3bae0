// Package journal is the embedded engine: runs and their events in one SQLite
// file of the state folder, carried by the process that serves them.
//
// Every event is on disk before it counts (write-ahead log, synchronous=FULL).
// Many processes may open the journal; the kernel's locks see to it that each run
// has one owner. What other processes ask of a run (cancel, stop, retest, done)
// are events that its owner reads.
package journal
