// Package follow publishes the events of a run and waits for its outcome. It reports progress and,
// if there is none, what the run waits for. Read Events first.
package follow
