// Package inspect identifies an artifact by its contents: Examples, a schema, statistics, a
// transform graph, a SavedModel, a checkpoint, TFLite and ONNX files, the result of a Tuner, event
// files, a Model artifact with all its formats. Read Inspect first, then kind.go, which
// distinguishes them.
//
// It reads local folders and stores alike (Source), reads as little as identifies the contents, and
// streams large files: a count of records stops at a limit of bytes, and says so. compute reads the
// formats; this package reports them as JSON (Report) and as a table (Report.Print).
//
// Whether a transform graph can be executed is tried within 256 MiB, four times the size of the
// artifact besides, and one minute.
package inspect
