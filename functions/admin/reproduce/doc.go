// Package reproduce makes a model again from the inputs that its run has pinned, in addition to the
// existing one, and compares the two. Prepare reports which inputs are gone, or makes the job;
// Compare compares the new model with the original. functions/stoker enqueues the job and waits for
// it.
package reproduce
