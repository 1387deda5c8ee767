// Package submit says what an event will do before it is published, whether a published one was
// ignored, and starts the inputs of a run again as a new run. Read Check first, then Checker,
// Ignored and Rerun.
package submit
