// Package search has the steps of a search for hyperparameters, without a bus and without a store:
// the search's definition (Config), the entry that a participant appends next (Plan), the
// assignment of a trial (Assign), the messages of a trial (Monitor), learning from an older search
// (Learn), and the files that a search leaves (Leave). functions/execution/tuner runs these steps
// over a shared log; Local runs them all in one process.
//
// The data flow of a trial:
//
//	study -> Plan -> suggestion, in a log's entry -> Assign -> module
//	  -> Monitor (curves; may end it early) -> Completed or Failed -> Plan
package search
