// Package inspect identifies an artifact by its contents: Examples, a schema, statistics, a
// transform graph, a SavedModel, a checkpoint, TFLite and ONNX files, the result of a Tuner, event
// files, a Model artifact with all its formats. Read Inspect first, then kind.go, which
// distinguishes them.
//
// It reads local directories and stores in the same way (Source), reads as little as it needs to
// identify the content, and streams large files: a count of records stops at a limit of bytes, and
// says so. compute reads the formats; this package reports them as JSON (Report) and as a table
// (Report.Print).
//
// To find out whether a transform graph can be executed, it tries so within 256 MiB plus four times
// the size of the artifact, and one minute.
package inspect
