// Package gc removes objects from the store that no run needs any more: attempts that no commit
// names, old checkpoints and, with retention, models that newer ones have replaced. It never
// removes an event, an artifact that others made, or anything that Stoker has not written itself:
// it only considers executions with objects below .system.
//
// These stay, whatever their age:
//   - objects of an attempt that holds a lease;
//   - the checkpoints and attempts of an execution without a model whose checkpoints were saved for
//     a job that is on the queue, or for the job of a run that is dispatched and has no outcome.
//     Such a job may wait for days, for machines that were preempted, and resumes from its
//     checkpoint;
//   - the checkpoints of the trials of a search whose job is on the queue, or whose run waits for
//     its result;
//   - the commit of every execution.
//
// Pure functions decide, from a survey of the store, what to remove; the effects come after that.
// Time is measured by the store's own clock, so that a machine whose clock is wrong removes nothing
// early. Read Collect first.
//
// Listings of the bus's buckets come from any replica and may be old. So a listing alone is only a
// reason to keep objects. It names the leases and joins that are then read from the leader, and
// right before a checkpoint is removed its job and its join are read from the leader. The order of
// the reads ensures the rest: objects are listed first, and an attempt that had no lease after its
// objects were listed never has one again. A lease or join that no listing names is missed only if
// a replica is behind by more than the minimum age, because a lease and a join are older than the
// objects of their job.
//
// The work is linear in the number of objects, events, leases and joins. Each collection reads the
// event log once, and, if models may be removed, once more from where it ended, before the first of
// them is removed.
package gc
