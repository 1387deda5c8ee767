// Package runs derives the state of each run. It folds the log of events and the key-value buckets
// PIPELINES, JOINS, GATES and LEASES into one Index; every command, page and exporter that shows a
// run reads an Index. The package writes nothing. Read Index first, then Open and Watch.
//
// # Reads
//
// An Index is a pure fold: ApplyEvent and Apply add what a caller has read, and Run and States
// derive states from it. Two types read for it:
//
//	Snapshot  reads once, for a command       Join, Pipeline, Load      the leader of the bucket
//	                                          ReadLog                   the leader of the log
//	                                          List                      any copy
//	Watch     follows the bus, for a console  Follow                    any copy
//
// Reads at the leader see every write that was acknowledged before the call. The exception is that
// of events.KV: a leader that has lost the other servers answers from its own copy for some
// seconds. A caller that decides something from the absence of an entry, or from an entry that
// others may replace, calls Sync first, which makes the reads after it linearizable. List and
// Follow may lack the newest writes, the caller's own included, and mix moments; what they return
// is good for display, and for decisions that a compare-and-swap confirms.
//
// Load and List read the buckets before the log. So the log is never older than the joins and
// leases: an outcome that ends a lease is not missed.
//
// # Order
//
// Events are applied in the order of the log; one that was applied before is ignored. Of the values
// of a key the newest revision counts, in whichever order they are applied, so that an older
// listing does not replace the leader's answer. Only deletions are not remembered.
//
// # Memory
//
// A Snapshot keeps what its caller reads: one record a run, and the events of the run only with
// Options.Timelines. A Watch keeps at most Options.MaxRuns runs (about 2 KiB each), drops the ones
// that ended longest ago, and counts them; it keeps at most 500 older revisions of pipelines.
//
// # Events that are gone
//
// Events that an operator has removed from the log are missing in an Index. The state of a run that
// has a join follows from that. If the join names an outcome that the log no longer has, the run is
// Unclear. A run without a join has ended if the log has its outcome, and otherwise waits; without
// events it is unknown.
//
// # Concurrency
//
// An Index may be read by several goroutines at once while none applies. A Snapshot is for one
// goroutine. The methods of a Watch may be called by several goroutines at once.
package runs
