// Package tensorbundle reads and writes TensorBundles: the variables of a SavedModel, and
// TensorFlow's checkpoints. A bundle is an index, which is a LevelDB table (table.go), and data
// files.
//
// The package doesn't know what each variable belongs to, except for the tree of objects that
// TensorFlow 2 stores with them (Objects). Read Bundle first. The format is defined in
// tensorflow/core/util/tensor_bundle.
package tensorbundle
