// Package savedmodel writes models as TensorFlow SavedModels. What
// it writes is served by anything that serves TensorFlow's own: it takes serialized tf.Examples, applies the transform
// graph where there is one, and its variables can be trained further. No TensorFlow and no cgo is needed to write it.
//
// How a model is trained doesn't live here (compute/train), nor its other file formats, nor the execution of a transform
// graph in Go (compute/transform): here a graph is carried over as it stands.
//
// Read Model first, then Write. Formats and semantics are TensorFlow's, as in tensorflow/core/protobuf (saved_model.proto and
// saved_object_graph.proto). The variables lie in a TensorBundle (compute/bundle).
package savedmodel
