// Package studies reads, follows and writes the logs of searches for hyperparameters. Read State
// first, then Log.
//
// compute/tune defines the meaning of an entry and which entries count: its package comment has the
// rule by which every reader folds a log to the same study, whatever a bus has lost of it.
// functions/execution/tuner works on studies, compute/tune/report writes their outcomes.
//
// Log is a worker's view of a study: it reads the log, follows it, and appends to it by
// compare-and-swap. Read and Follow are for readers that don't write; List, Find, OfJob and At find
// a study by the names that users have; Stop requests its end.
//
// A bus may lose entries that it has acknowledged: the newest ones, in a power failure of servers
// that don't sync each write, or when a backup is restored. So a reader relies on what it has read
// only as far as the log still contains it:
//
//   - Each read begins at an entry that was in the log together with all before it, and reads the
//     entries after it once more: an entry that was in the log before the read began, and is found
//     after the same entries, proves that they are in the log. If one of them is gone, or another
//     has its sequence, the reader discards what it had folded and reads the log from its
//     beginning. It does the same when an entry arrives that doesn't continue what it has folded:
//     either no reader counts that entry, or the reader's own view has entries that are lost.
//   - A reader that finds the log shorter than before reads it again for up to lagTime, because a
//     replica may lag, and then assumes that the entries are lost. If it is wrong, the
//     compare-and-swap refuses its next entry.
//   - Log reads back each entry that it has appended, because a bus that has lost entries may
//     accept one at a sequence that another writer's entry has by now. Only an entry that was read
//     back, and that continues the log, was written.
//   - Follow, in both forms, checks every checkTime that the newest entry is in the log, because
//     entries that replace lost ones may have sequences that the follower has passed.
//
// Log logs what was lost. The participants of the study continue from what the log holds: a trial
// whose start was lost counts as not started, and its results are dropped.
package studies
