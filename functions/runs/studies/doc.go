// Package studies reads, follows and writes the logs of searches for hyperparameters. Read State
// first, then Log.
//
// What an entry means, and which entries count, is compute/tune's: the package comment there has
// the rule by which every reader folds a log to the same study, whatever a bus has lost of it.
// functions/execution/tuner works on studies, compute/tune/report writes their outcome down.
//
// Log is a study as one worker has it: it reads the log, follows it, and appends to it by
// compare-and-swap. Read and Follow are for those who only look; List, Find, OfJob and At find a
// study by the names that people use; Stop asks for its end.
//
// A bus may lose entries that it has acknowledged: the newest ones, in a power failure of servers
// that don't sync each write, or when a backup is restored. So a reader trusts what it has read
// only as far as the log still holds it:
//
//   - Each read begins at an entry that stood in the log together with all before it, and reads
//     once more what was read behind it: an entry that was in the log before the read began, and is
//     found behind the same entries, vouches for them. If one of them is gone, or another has its
//     sequence, the reader discards what it had folded and reads the log from its beginning. So it
//     does when an entry comes that doesn't continue what it has folded: either that entry counts
//     for nobody, or the reader's own view is of entries that are lost.
//   - A reader that finds the log shorter than before reads it again for up to lagTime, as a
//     replica may lag, and takes the entries for lost then. Should it be wrong, the
//     compare-and-swap refuses what it appends.
//   - Log reads each entry back that it has appended, since a bus that has lost entries may accept
//     one at a sequence that another writer's entry has by now. Only an entry that was read back,
//     and that continues the log, was written.
//   - Follow, in both forms, checks every checkTime that the newest entry stands, as entries that
//     took the place of lost ones may have sequences that the follower has passed.
//
// Log names in its logger what was lost. Whoever works on the study goes on from what the log
// holds: a trial whose start was lost was not started, and what it found is dropped.
package studies
