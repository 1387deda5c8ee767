// Package replay repeats what was lost, from the event log alone: a run whose model is gone is
// trained again, one whose job is gone is enqueued again, one whose join is gone is joined again;
// what is complete is left as it is. It also retries dead letters.
//
// What is done is decided by pure functions of what the log, the buckets and the store hold of each
// run; the effects come after, through functions/dispatch, which decides what follows from an
// event. Read Step first, then Survey and Do; Retry is for dead letters.
package replay
