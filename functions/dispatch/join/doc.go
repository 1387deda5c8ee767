// Package join turns facts and a pipeline into jobs. It is pure: no clock, no network, no randomness; the same facts give the
// same jobs, ids included, on any machine and on any replay.
//
// What becomes of a run is a function of its facts in the order in which the log holds them (Decide), never of the order
// in which they happened to be handled. functions/dispatch keeps a Join for each run and a Gate for each pipeline in registers,
// and asks here what they mean. Read Join first, then Decide, then Gate.
package join
