// Package dispatch takes facts off the log, joins them by pipeline and run, and puts the jobs that follow on the queue. What
// follows from what is functions/plan's business; here are the effects, in the order that makes each of them repeatable:
// the join reaches complete by compare-and-swap, the run passes its pipeline's gate, the join is marked dispatched by compare-and-swap,
// the job is enqueued, the event is acknowledged. A run of which nothing will come ends by compare-and-swap, then a fact says so, then the
// join is marked told.
//
// Any number of dispatchers may run, and any of them may die between two effects: whoever finds something half done, because
// the fact is delivered again or by a sweep over the registers, does the rest.
//
// From a fact to its job, who calls whom:
//
//	Next                     takes a fact off the log, and acknowledges it last
//	  Handle                 brings it to its effect
//	    join                 adds it to the run's join, and completes that once no fact is missing
//	    advance              does what the run's state asks for; Sweep comes in here, and at pass
//	      enter              an open gate without a limit: offers at once; else
//	        pass             goes on until nobody leaves the gate any more
//	          changeGate     settles who is admitted, who waits and who is superseded
//	          serve          ends the superseded, and sees each admitted run to its job
//	            admit        says whether the run keeps its place
//	              offer      makes the job
//	                mark     notes in the join that the run has it, unless the run has ended
//	                enqueue  puts the job on the queue
//
// A run whose pipeline tunes has two jobs. While it waits for nothing but hyperparameters, join pins its tuning, and advance sees it
// to its tune job (tune, offerTuning, markTuning) through the same gate, where it keeps its place until it is trained. What comes of the
// tune job is a fact of the run like any other.
//
// A fact that tells what came of a job goes from Handle to leave instead, and from there to pass.
//
// Two pipelines count. The one that is deployed now (deployed, current) says what a run waits for and for how long, which facts mean
// something to it, and how many runs its gate lets through. The one at the revision that a join pinned when it completed (pinned)
// is what its job is made from, whatever was applied since.
//
// Read Dispatcher first, then advance.
package dispatch
