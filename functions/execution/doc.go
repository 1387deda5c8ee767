// Package execution does one job as one execution: everything that determines its result is known
// before any work starts, the work is done once, and exactly one result is committed. What differs
// between trainings and searches is a Component (trainer, tuner).
//
// The data flow of a job is one function, Executor.execute:
//
//	Executor.Identify        describe the job, list inputs, digest the module, hash the identity
//	Executor.committed       a cache hit skips to the event
//	Executor.Open            an Attempt, with a Workspace of its own
//	Attempt.earlier          a job may take the result of an earlier execution (Reuser)
//	Component.Start          the Work of the attempt
//	Attempt.joinGroup        the other hosts of a group prepare as well
//	Attempt.StageIn          copy the inputs, refuse unsafe graphs
//	Attempt.resume           lay out the newest checkpoint, start the Checkpointer
//	Work.Run                 the module runs: Attempt.OpenSession, Session.Run
//	Attempt.check            Work.Check, then what holds for all results
//	Attempt.publish          blobs, then the manifest with the typed result
//	Attempt.commit           the one point where the execution is done
//	Attempt.RemoveCheckpoints
//	Execution.event          Component.Event
//
// Next to it, Executor.cancel writes a cancelled commit by the same condition, and Executor.Follow
// does a member's part of an attempt that several hosts share.
//
// An attempt that is cut off anywhere leaves what the next one can resume from. Every write to the
// store is made only while the job's lease is provably held (storage.Fenced). A commit in the way,
// because its objects are gone or because it cancels another job, is replaced; the results of one
// execution are counted by its generation.
//
// Retries are decided by functions/worker; this package does not use the bus. Read Executor first.
package execution
