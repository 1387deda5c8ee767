// Package runs says what state a run is in, and what it waits for: from its join, its pipeline, its pipeline's gate, the lease of its
// job and the last word of the log. It is pure: who asks has read these, in whichever way. Read State first.
package runs
