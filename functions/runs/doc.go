// Package runs derives what state a run is in, and what it waits for, from its join, its pipeline,
// its pipeline's admission, the lease of its job and its last outcome in the log. It is pure: its
// callers read these, in any way. Read State first.
package runs
