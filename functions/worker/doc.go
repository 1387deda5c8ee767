// Package worker claims jobs from the queue and completes each one: claim, hold the lease, handle,
// publish, settle. It owns the goroutines, and it alone turns an error into a disposition:
//
//	bad input, incomplete                     dead letter
//	cancelled                                 an event, then acknowledged
//	module raised, model failed its check     retried, up to Limits.Attempts; then dead letter
//	process crashed, over memory or time      retried, up to Limits.Crashes; then dead letter
//	worker died with the job                  retried, up to Limits.Lost; then dead letter
//	any other: bus or store away, stopping    retried without limit
//
// A job is given up in three steps: a dead letter with the reason and the events behind it, an
// event that announces the failure, the acknowledgement. Each step is taken only while the lease is
// provably held. No job is dropped without a trace.
//
// Before a job is worked on, also at its first attempt, and again before anything is published, the
// worker reads the run's events. A job whose outcome is among them is acknowledged, whatever
// execution it would be now; so is a job of a run that has ended without one.
//
// A worker counts as having died with a job if its lease was taken over and the worker hasn't
// reported since. A worker that is drained releases its lease. A worker that has lost its lease
// while the bus was away, or while it was frozen, reports as soon as the bus answers, and the
// attempt no longer counts; the attempt that would give the job up waits for such reports first. A
// worker that dies during an outage, or with its machine, counts like one that the job has killed,
// because the two can't be distinguished.
//
// The package uses no store and no module, and does not train: Functions do. Read Worker first.
package worker
