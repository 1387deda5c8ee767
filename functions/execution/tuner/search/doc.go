// Package search is what a search for hyperparameters is made of, without a bus and without a store: what it looks for (Config), what whoever
// has a seat in it writes next (Plan), what a trial is assigned (Assign) and how it is heard (Heard), what it learns from an older one (Learn), and the
// files that it leaves (Leave). functions/execution/tuner does this over a log that many share; Alone does all of it by itself.
//
// The walk of a trial:
//
//	study -> Plan -> suggestion, in a log's entry -> Assign -> module -> Heard (curves; may end it early) -> Completed or Failed -> Plan
package search
