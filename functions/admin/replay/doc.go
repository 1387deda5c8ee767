// Package replay repeats what was lost, from the event log alone: it trains a run again whose model
// is gone, enqueues a job again that is gone, and joins the events of a run again whose join is
// gone; it leaves complete runs as they are. It also retries dead letters.
//
// Pure functions decide what to do, from what the log, the buckets and the store hold of each run.
// The effects come after that, through functions/dispatch, which decides what follows from an
// event. Read Step first, then Survey and Do; Retry is for dead letters.
package replay
