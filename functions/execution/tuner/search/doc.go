// Package search is what a search for hyperparameters is made of, without a bus and without a
// store: what it looks for (Config), what a participant writes next (Plan), what a trial is
// assigned (Assign) and how its messages are followed (Monitor), what it learns from an older
// search (Learn), and the files that it leaves (Leave). functions/execution/tuner does this over a
// log that many share; Local does all of it by itself.
//
// The data flow of a trial:
//
//	study -> Plan -> suggestion, in a log's entry -> Assign -> module
//	  -> Monitor (curves; may end it early) -> Completed or Failed -> Plan
package search
