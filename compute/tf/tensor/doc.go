// Package tensor holds the one tensor type of everything that reads, computes or writes
// TensorFlow's data: graphs, their ops, checkpoints and SavedModels. Read Tensor first, then Array.
// Operations of graphs are in compute/tf/ops.
package tensor
