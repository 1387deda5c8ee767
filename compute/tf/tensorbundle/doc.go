// Package tensorbundle reads and writes TensorBundles: the variables of a SavedModel, and
// TensorFlow's checkpoints. A bundle is an index, which is a LevelDB table (table.go), and data
// files.
//
// Which variable belongs to what is not known here, but for the tree of objects that TensorFlow 2
// keeps with them (Objects). Read Bundle first. The format is that of
// tensorflow/core/util/tensor_bundle.
package tensorbundle
