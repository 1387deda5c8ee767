// Package trainer does one train job. What every job has in common is functions/execution's; what is a training's own is read
// top to bottom in Trainer.Work: what decides a model, what the module is told, when a model is one, whether its files answer
// as it was trained, which fact tells of it.
//
// It decides nothing about retries (functions/worker does) and knows no bus. Read Trainer first.
package trainer
