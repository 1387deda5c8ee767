// Package pipeline holds the pipeline file: what is trained, by which module, on which events, with which arguments. It
// reads YAML, fills in defaults, and says everything that is wrong with a file at once, each with its line and column.
//
// It knows no bus and no store: functions/stoker puts a Pipeline into the KV bucket, functions/dispatch/join makes jobs of it, and
// functions/execution/trainer reads its own Pipeline back out of a job. Read Pipeline first, then Parse.
package pipeline
