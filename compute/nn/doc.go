// Package nn is neural networks on Gorgonia: layers, losses, gradients. It and compute/nn/plan are the only importers of gorgonia.
//
// Start with Graph: a model's forward pass in plain words. A Builder makes one, layer by layer; Eval and Evaluator compute it in
// plain Go; those who write models to files read it; and Program writes it as a Gorgonia expression for one batch size, with
// a loss and its gradients. What no trainable param reaches (look-ups, one-hot, normalisation) is computed in plain Go also in
// training and fed to Gorgonia. What a training computes in another way than a prediction, by chance or by the statistics of a batch,
// is in Graph.Training. How params begin is in compute/nn/initializer, how gradients change them in compute/nn/optim. Formulas, names
// and defaults are those of Keras 3.
//
// All arithmetic is float32. The same seed, batches and KernelSet give the same bits.
//
// The loop over batches, evaluation and checkpoints are in compute/train.
package nn
