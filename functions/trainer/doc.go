// Package trainer does one train job, read top to bottom in Trainer.work: list the inputs, know the execution, skip what is
// already done, stage in, go on from the last checkpoint, run the module and keep its checkpoints, check the model, compare it with what was trained, publish,
// commit, tell.
//
// An attempt that is cut off anywhere leaves what the next one can go on from. Every write to the store is taken only while the
// job's lease is provably ours. A commit that is in the way of ours, because its objects are gone or because it cancels another
// job, is replaced; the models of one execution are counted by its generation.
//
// It decides nothing about retries (functions/worker does) and knows no bus. Read Trainer first.
package trainer
