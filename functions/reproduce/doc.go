// Package reproduce makes a model again from the inputs that its run has pinned, beside the one that is there, and compares the two.
// Prepare says what can't be had any more, or makes the job; Compare compares what came of it with what was there. Who offers the job and
// waits for it is functions/stoker.
package reproduce
