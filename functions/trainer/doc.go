// Package trainer does one train job, read top to bottom in Trainer.Handle: list the inputs, know the execution, skip what is
// already done, stage in, run the module, check the model, publish, commit, tell.
//
// It decides nothing about retries (functions/worker does) and knows no bus. Read Trainer first.
package trainer
