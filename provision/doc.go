// Package provision carries a batch of machines from their BMCs to a test
// record.
//
// A Batch names the machines of one job. A Workflow is an ordered list of Steps;
// a Step asks the machine whether it is done, acts, and asks again. A Run is one
// workflow over one batch, and is told by its Events: Fold makes a Run of them,
// for every Engine alike. An Engine carries runs through crashes; it interprets a
// plan of step names, timeouts and tries, knows no operation, and calls a Worker
// for each step. The embedded engine is provision/journal.
//
// Nothing happens twice: before an act its intent is durable, with a mark by
// which the machine itself will tell whether the act happened (see Act).
package provision
