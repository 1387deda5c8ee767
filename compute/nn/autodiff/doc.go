// Package autodiff trains a Model of compute/nn: Gorgonia writes the loss and its gradients as an
// expression, compute/nn/plan compiles it, and a plan.Machine runs it. Only this package and
// compute/nn/plan import Gorgonia.
//
// Start with Program, which takes the steps of a training. Nodes that depend on no trainable param
// (look-ups, one-hot, normalization) are computed by an nn.Evaluator and fed to the machine.
// FromGorgonia converts an expression that was written with Gorgonia to an nn.Graph.
//
// The loop over batches, evaluation and checkpoints are in compute/train.
package autodiff
