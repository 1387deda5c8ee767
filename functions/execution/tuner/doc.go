// Package tuner is the execution.Component that searches for hyperparameters. The steps that all
// jobs share are in functions/execution; what a study comes to by its log is in compute/tune, and
// what it tries next in compute/tune/suggest. Here is the work of the jobs on a study.
//
// The module runs first. One that says what to search for, as Go modules and builtins do, and
// tuner_fns with several trials at once or whose pipeline says how to search, gets a study: a log
// on the bus, named by the search's execution. Any other tuner_fn searches as it was written, whole
// in the one job; what it keeps in its working folder survives a lost worker. See participant.ask.
//
// A study has participants. The tune job is one; with several trials at once it enqueues trial jobs
// for the others, which any worker may claim. There is no coordinator: every participant does the
// same, in participant.trials.
//
//	read the rest of the log
//	  -> the trial that this job has already, resumed from the checkpoint of an earlier attempt;
//	     else one to retry; else the result of suggest.Next
//	  -> append that it has begun; if another participant appended first, plan again
//	  -> have the module train it
//	  -> append how it ended, and the beginning of the next one, in one entry
//
// A participant that finds nothing to do is done; one that begins a trial and may begin more
// enqueues trial jobs again. So losing a worker costs a lease, and losing a trial job costs time,
// but neither costs a trial: the tune job takes what nobody else does. The log refuses what an
// attempt reports of a trial that another has taken over. The tune job waits for the others' trials
// for a while, then releases its slot, and when the study is finished and nothing of it runs, the
// executor publishes what it came to.
//
// What lies where: the log on the bus, for good; states that trials leave for others to start from,
// in the store as checkpoints of parts of the execution, until it is committed; all else in the
// participant's workspace, until the trial has ended. A trial that leaves nothing writes nothing to
// the store.
//
// Read Tuner, then participant, then search.Plan.
package tuner
