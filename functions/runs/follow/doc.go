// Package follow publishes the facts of a run and stays until something has come of it, telling how the run gets on and, where nothing is
// heard of it, what it waits for. Read Facts first.
package follow
