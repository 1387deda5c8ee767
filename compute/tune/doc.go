// Package tune has studies: a study is a search for hyperparameters as a log of the trials that
// were begun and their results. A Study is a pure function of a log's entries: the same log gives
// the same Study, on any worker, after any crash. It has no clock, no bus and no randomness of its
// own.
//
// A log is a chain: each entry carries the SHA-256 of the entry before it. A bus may lose entries
// that it has acknowledged, as after a power failure or when a backup is restored, and entries of
// writers that had read the lost ones may follow. Every reader folds the remaining entries by the
// same rule, so all readers get the same Study, and no log is ever unreadable:
//
//  1. The newest accepted entry is the head; an empty log has none. An entry continues the log if
//     it is one line of JSON of at most MaxEntryBytes whose member previous is the hash of the
//     head, or is missing where there is no head.
//  2. An entry that doesn't continue the log is skipped and counted in Study.Skipped: its writer
//     had read another log.
//  3. An entry that continues the log is the new head, even if it can't be applied: one that
//     contradicts the study, such as the end of a trial that the log doesn't know, has no effect as
//     a whole and is counted in Study.Dropped.
//  4. An entry that continues the log and has a member that this version doesn't know is ErrNewer:
//     the reader stops there, and a newer version reads on.
//
// The rule depends only on the bytes, not on their sequence numbers. Enter implements it.
//
// compute/tune/suggest chooses the next trial, as a pure function of a Study; compute/tune/space
// has the parameters. This package does not know where the log is kept and which worker runs a
// trial: functions/execution/tuner decides that. Read Config, Entry and Study, in this order.
package tune
