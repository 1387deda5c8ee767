// Package nn is neural networks on Gorgonia: layers, losses, gradients, optimizers. It is the only importer of gorgonia.
// It offers Graph, the forward pass in plain words, to those who write models to files.
package nn
