// Package inspect says what an artifact is, by what it holds: Examples, a schema, statistics, a transform graph, a SavedModel, a
// checkpoint, TFLite and ONNX files, what a Tuner found, event files, a Model artifact with all its formats. Read Inspect first,
// then kind.go, which tells them apart.
//
// It looks at local folders and at stores alike (Source), reads as little as tells what is there, and streams what is large: a
// count of records stops at a limit of bytes, and says so. How the formats are read is known to compute; here is what of them is
// worth telling, as JSON (Report) and as a table (Report.Print).
//
// Whether a transform graph can be executed is tried within 256 MiB, four times the size of the artifact besides, and one minute.
package inspect
