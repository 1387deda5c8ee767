// Package dispatch takes facts off the log, joins them by pipeline and run, and puts the jobs that follow on the queue. What
// follows from what is functions/plan's business; here are the effects, in the order that makes each of them repeatable:
// the join reaches complete by compare-and-swap, the job is offered, the join is marked dispatched, the fact is acknowledged.
//
// Any number of dispatchers may run. Read Dispatcher first.
package dispatch
