// Package execution is one job as one execution, whatever the job is: everything that decides its result is known before any of
// it is done, it is done once, and exactly one result is committed. What is special about a kind of job (functions/execution/trainer,
// functions/execution/tuner) is a Kind: what decides its result, what its module is told, what it must leave, which fact tells of it.
//
// The walk of a job is Workshop.Handle: list the inputs, know the execution, skip what is already done; else open an Attempt, on
// which the Kind's own walk goes on: stage in, go on from the last checkpoint, run the module and keep its checkpoints, check,
// publish, commit. Then tell.
//
// An attempt that is cut off anywhere leaves what the next one can go on from. Every write to the store is taken only while the
// job's lease is provably ours. A commit that is in the way of ours, because its objects are gone or because it cancels another
// job, is replaced; the results of one execution are counted by its generation.
//
// It decides nothing about retries (functions/worker does) and knows no bus. Read Workshop first.
package execution
