// Package tensor has the tensor type of all packages that read, compute or write TensorFlow's data:
// graphs, their ops, checkpoints and SavedModels. Read Tensor first, then Array. Operations of
// graphs are in compute/tf/ops.
package tensor
