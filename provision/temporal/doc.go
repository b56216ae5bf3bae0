// Package temporal is the distributed engine: runs are carried by workers beside the
// management networks, and a Temporal server keeps what happened.
//
// There is no store beside Temporal's own. The history of a workflow is the journal:
// whatever an engine, a worker or a person says is a signal, durable when the call
// returns, and reading the signals of a run in order gives its provision.Events. So a
// run can be read, cancelled and amended while no worker is alive.
//
//   - "run", one per run and called as it: what was said of the run as a whole.
//   - "machine", one per machine, <run>/<machine>: folds what was said of the machine,
//     and of its run, and has its next step done.
//   - "limiter", one per site: leases, with expiry, of places, of racks' power, of BMCs.
//   - the activity "step", on the task queue of a site: one try of one step.
//
// None of them knows what a step does.
package temporal
