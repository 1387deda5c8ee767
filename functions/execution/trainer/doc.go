// Package trainer is the execution.Component that trains models: what determines a model
// (Trainer.Identity), the module's assignment (Trainer.Assign), the check that its outputs are a
// model whose files answer like the trained one (training.Check), and the model's event
// (Trainer.Event). The steps that all jobs share are in functions/execution.
//
// Read Trainer, then training.
package trainer
