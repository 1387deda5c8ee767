// Package dispatch takes facts off the log, joins them by pipeline and run, and puts the jobs that follow on the queue. What
// follows from what is functions/plan's business; here are the effects, in the order that makes each of them repeatable:
// the join reaches complete by compare-and-swap, the run passes its pipeline's gate, the job is offered, the join is marked
// dispatched, the fact is acknowledged. A run of which nothing will come ends by compare-and-swap, then a fact says so, then the
// join is marked told.
//
// Any number of dispatchers may run, and any of them may die between two effects: whoever finds something half done, because
// the fact is delivered again or by a sweep over the registers, does the rest. Read Dispatcher first, then advance.
package dispatch
