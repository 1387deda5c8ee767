// Package follow publishes the events of a run and waits for its outcome. It reports progress and,
// if there is none, what the run waits for. Read Facts first.
package follow
