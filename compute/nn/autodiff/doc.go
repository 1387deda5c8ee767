// Package autodiff trains a Model of compute/nn: Gorgonia writes the loss and its gradients as an
// expression, compute/nn/plan compiles that, and a plan.Machine runs it. Besides compute/nn/plan
// this is the only importer of Gorgonia.
//
// Start with Program, which takes the steps of a training. What no trainable param reaches
// (look-ups, one-hot, normalization) is computed by an nn.Evaluator and fed to the machine.
// FromGorgonia reads an expression that was written with Gorgonia as an nn.Graph.
//
// The loop over batches, evaluation and checkpoints are in compute/train.
package autodiff
