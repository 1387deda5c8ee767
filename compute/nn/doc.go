// Package nn has neural networks: layers, losses and the forward pass. Formulas, names and defaults
// are those of Keras 3.
//
// Start with Graph, a model's forward pass. A Builder builds one layer by layer, an Evaluator
// computes it, and compute/tf/savedmodel and compute/export write it to files. If training computes
// something else than prediction, because of randomness or the statistics of a batch,
// Graph.Training has those nodes. A Model is a Graph with a Loss; compute/nn/autodiff computes its
// gradients. Initial params are in compute/nn/initializer, optimizers in compute/nn/optim.
//
// All arithmetic is float32. The same seed, batches and KernelSet give the same bits.
package nn
