// Package report writes a study in the forms that other tools read: rows of a table, CSV, JSON, and
// the event files of TensorBoard's HParams page. It looks at a tune.Study and writes to a local
// folder; where the study comes from and where the folder goes is not its business. Read Of first.
package report
