// Package tensorflow reads graphs that TensorFlow saved, and executes their functions as TensorFlow does, without it: the
// protos of a SavedModel, its tree of objects, what functions capture (constants, variables, tables, assets), and a compiler
// from functions to flat plans.
//
// What a graph is for isn't known here: a TransformGraph artifact is read by compute/transform, a served model by
// compute/savedmodel. The ops themselves stand in compute/tensorflow/ops.
//
// Read Model first, then Program.
package tensorflow
