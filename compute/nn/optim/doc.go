// Package optim is optimizers: how weights change along their gradients from step to step, the learning rate's schedule, and a bound
// for the gradients. Formulas, names and defaults are those of Keras 3.
//
// Start with Optimizer. New finds one by name, NewParts makes one of several, WithSettings gives it a Schedule and a Clip. Each is a
// kernel.Rule and its memory, some slots as long as the weights. Of a model an optimizer knows no more than the weights, the gradients
// beside them, and for Parts the names and sizes of the params that they are made of: layers, losses and where gradients come from are in
// compute/nn. What a step does is said as updates for a plan.Machine, so that a device takes the same step.
package optim
