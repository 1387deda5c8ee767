// Package plan compiles a Gorgonia expression and its gradients into a flat list of instructions over memory that is planned
// once, and runs that list.
//
// Start with Plan: what a step of training is made of, without a type of Gorgonia. Compile reads one from an expression: it
// drops what no gradient needs, gives every value its place, and joins what one kernel can do. Machine runs a Plan on this
// computer's cores, by compute/kernel; compute/nn/cuda runs it on a GPU. What Compile does not know runs by the operation's own
// Do, as Gorgonia itself would.
package plan
