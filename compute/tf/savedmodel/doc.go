// Package savedmodel writes models as TensorFlow SavedModels, and asks SavedModels of anyone's.
// What it writes is served by anything that serves TensorFlow's own: it takes serialized
// tf.Examples, applies the transform graph where there is one, its variables can be trained
// further, and it has the fingerprint that TensorFlow would give it. No TensorFlow and no cgo is
// needed.
//
// How a model is trained doesn't live here (compute/train), nor its other file formats, nor the
// execution of graphs in Go (compute/tf/graph): here a transform graph is carried over as it
// stands.
//
// A model that is asked in Go stays within graph.Limits (Served.Limit), and ends with its context
// (Served.RunContext).
//
// Read Model first, then Write; WriteEval is for model analysis, Open for reading. Formats and
// semantics are TensorFlow's, as in tensorflow/core/protobuf (saved_model.proto,
// saved_object_graph.proto and fingerprint.proto). The variables lie in a TensorBundle
// (compute/tf/tensorbundle).
package savedmodel
