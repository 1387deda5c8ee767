package savedmodel

import (
	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// Model is a model that Write can write. Its signatures, each called with keyword arguments, are
//
//   - serving_default: examples, string [-1], serialized tf.Examples, to the graph's outputs,
//     float32 or int64 [-1, width]
//   - predict_tensors: the graph's inputs, [-1, width], to the same outputs; each is called by its
//     name as a Python argument (Keyword): trip_miles for trip-miles, class_ for class
//   - transform_features, with a transform graph: examples to the dense transformed features, if
//     there are any
type Model struct {
	Graph *nn.Graph

	// Spec determines how the raw features are parsed if there is no transform graph. Features that
	// the graph doesn't take aren't parsed. A feature without a shape (VarLen) may have as many
	// values as its input is wide; absent ones are filled.
	Spec example.Spec

	// Defaults are the values of raw features that a row lacks. Without one a VarLen feature is
	// filled with 0 or "", and a row that lacks a feature with a shape and without Feature.Default
	// is an error, as in TensorFlow.
	Defaults map[string]example.Default

	// TransformGraph is the folder of a TFX TransformGraph artifact, "" for none. With it the
	// graph's inputs are transformed features.
	TransformGraph string

	// Labels are features that a request may leave out, although the transform graph takes them.
	// Only WriteEval requires them.
	Labels []string

	// Classes are the values of raw labels, in the order of the model's outputs, if labels are
	// strings; else nil.
	Classes []string

	// ClassNames are the classes that the logits represent, in their order, also if labels are
	// numbers; two for a single logit, which is that of the second one. nil: the model has no
	// classes, or they aren't known. They are kept in a file next to the model (ReadClasses), for
	// trainings that start from its weights.
	ClassNames []string
}
