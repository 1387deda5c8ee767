// Package tuner is the execution.Component that searches for hyperparameters. The steps that all
// jobs share are in functions/execution; compute/tune derives the state of a study from its log,
// and compute/tune/suggest chooses the next trial. This package does the work of the jobs on a
// study.
//
// The module runs first. A module that says what to search for gets a study: a log on the bus,
// named by the search's execution. Go modules and builtins do so, and tuner_fns with several trials
// at once or whose pipeline says how to search. Any other tuner_fn runs its whole search in the one
// job; the files in its working directory survive the loss of a worker. See participant.ask.
//
// A study has participants. The tune job is one; with several trials at once it enqueues trial jobs
// for the others, which any worker may claim. There is no coordinator: every participant does the
// same, in participant.trials.
//
//	read the rest of the log
//	  -> the trial that this job already has, resumed from the checkpoint of an earlier attempt;
//	     else one to retry; else the result of suggest.Next
//	  -> append that it has begun; if another participant appended first, plan again
//	  -> have the module train it
//	  -> append how it ended, and the beginning of the next one, in one entry
//
// A participant that finds no work is done; one that begins a trial enqueues trial jobs again if
// there may be more trials. So a lost worker costs the time of a lease, and a lost trial job costs
// time, but neither costs a trial: the tune job takes over trials that have no worker. The log
// refuses an attempt's reports of a trial that another attempt has taken over. The tune job waits
// for the others' trials for a while, then releases its slot, and when the study is finished and
// none of its trials runs, the executor publishes its result.
//
// The log stays on the bus forever. States from which other trials start are in the store, as
// checkpoints of parts of the execution, until the execution is committed. All else is in the
// participant's workspace until the trial has ended. A trial without such a state writes nothing to
// the store.
//
// Read Tuner, then participant, then search.Plan.
package tuner
