// Package savedmodel writes models as TensorFlow SavedModels, and executes SavedModels, also of
// other programs. Every server of TensorFlow's models can serve the result: it accepts serialized
// tf.Examples, applies the transform graph if there is one, its variables can be trained further,
// and it has the fingerprint that TensorFlow would give it. It needs neither TensorFlow nor cgo.
//
// Other packages train a model (compute/train), write its other file formats (compute/export), and
// execute graphs in Go (compute/tf/graph): this package copies a transform graph as it is.
//
// A model that is executed in Go stays within graph.Limits (Served.Limit), and ends with its
// context (Served.RunContext).
//
// Read Model first, then Write; WriteEval is for model analysis, Open for reading. Formats and
// semantics are TensorFlow's, as in tensorflow/core/protobuf (saved_model.proto,
// saved_object_graph.proto and fingerprint.proto). The variables are in a TensorBundle
// (compute/tf/tensorbundle).
package savedmodel
