// Package plan has computations as flat lists of instructions over memory that is laid out once,
// and executes them.
//
// Start with Plan. Compile reads a step of training from a Gorgonia expression and its gradients:
// it drops what no gradient needs, assigns memory to every value, and joins what one kernel can
// compute. Forward writes a forward pass without Gorgonia. A Machine takes the steps of a training,
// on this computer's cores by compute/kernel or on a GPU by compute/nn/cuda; a Runner computes a
// forward pass for any number of rows. Operations that Compile does not know are executed by their
// own Do, as by Gorgonia itself.
package plan
