// Package reproduce makes a model again from the inputs that its run has pinned, in addition to the
// existing one, and compares the two. Prepare says what can't be had any more, or makes the job;
// Compare compares what came of it with what was there. Who offers the job and waits for it is
// functions/stoker.
package reproduce
