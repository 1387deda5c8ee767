// Package export writes a trained model into all requested files: the SavedModel, and the formats
// of other runtimes. It is the one call at the end of a module.
//
// The writers of the formats are other packages (compute/tf/savedmodel, compute/export/onnx and the
// like).
//
// Read Write first; a format is a line in formats.go.
package export
