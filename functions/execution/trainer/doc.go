// Package trainer is the execution.Component that trains models: what determines a model
// (Trainer.Identity), what the module is assigned (Trainer.Assign), when its outputs are a model
// and whether its files answer as it was trained (training.Check), and the event of it
// (Trainer.Event). The steps that all jobs share are in functions/execution.
//
// Read Trainer, then training.
package trainer
