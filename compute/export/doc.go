// Package export writes a trained model into every file that is asked for: the SavedModel, and the
// formats that other runtimes take. It is the one call at the end of a module.
//
// How each format is written doesn't live here (compute/tf/savedmodel, compute/export/onnx and
// their kin), nor who requests it.
//
// Read Write first; a format is a line in formats.go.
package export
