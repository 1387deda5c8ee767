// Package tune is a study: a search for hyperparameters as a log of what was begun, tried and found. A Study is what a log's entries
// come to, and nothing else: same log, same Study, on any worker, after any crash. It has no clock, no bus and no randomness of its own.
//
// What is tried next is compute/tune/suggest's, a pure function of a Study; what is varied is compute/tune/space's. Who keeps the log
// and who works on trials is none of this package's business: functions/tuner does. Read Config, Entry and Study, in this order.
package tune
