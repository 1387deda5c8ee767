// Package tuner does tune jobs: searches for hyperparameters. What every job has in common is functions/execution's; what a study comes
// to by its log is compute/tune's, and what it tries next compute/tune/suggest's. Here is who works on it.
//
// The module is asked first. One that says what to search for, as Go modules and builtins do, and tuner_fns with several trials at once
// or whose pipeline says how to search, gets a study: a log on the bus, named by the search's execution. Any other tuner_fn searches
// as it was written, whole in the one job; what it keeps in its working folder survives a lost worker. See ask.go.
//
// A study has seats. The tune job is one; with several trials at once it offers the others as trial jobs, which any worker takes. There is
// no coordinator: every seat does the same, as its loop in seat.go says.
//
//	read the log on -> the trial that is this job's already: an earlier attempt had it, and it goes on from its checkpoint;
//	else one that is to be tried again; else what suggest.Next says -> write that it has begun, behind what was read;
//	if someone else wrote first, think again -> have the module train it -> write how it ended, and the next one's begin, in one entry
//
// A seat that finds nothing to do is done; whoever begins a trial and sees room for more offers seats again. So losing a worker costs a
// lease, and losing an offer costs time, but neither costs a trial: the tune job takes what nobody else does. What an attempt says of a
// trial that another has taken over is refused by the log. The tune job waits for the others' trials for a while, then goes back
// to its queue, and when the study is finished and nothing of it runs, publishes what it came to and tells it.
//
// What lies where: the log on the bus, for good; states that trials leave for others to go on from, in the store as checkpoints of
// parts of the execution, until it is committed; all else on the seat's desk, until the trial has ended. A trial that leaves nothing
// writes nothing to the store.
//
// Read Tuner, then seat, then search.Plan.
package tuner
