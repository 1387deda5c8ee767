// Package report writes a study in formats that other tools read: rows of a table, CSV, JSON, and
// the event files of TensorBoard's HParams page. It reads a tune.Study and writes to a local
// directory; its callers read the study from its log and publish the directory. Read Of first.
package report
