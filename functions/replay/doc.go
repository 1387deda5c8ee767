// Package replay does again what was lost, from the log of facts alone: a run whose model is gone is trained again, one whose
// job is gone is offered again, one whose join is gone is joined again; what is whole is left as it is. It also gives dead
// letters another try.
//
// What would be done is decided by pure functions over what the log, the registers and the store say of each run; the effects
// come after, through functions/dispatch, whose business it stays what follows from a fact. Read Step first, then Survey and
// Do; Retry is for dead letters.
package replay
