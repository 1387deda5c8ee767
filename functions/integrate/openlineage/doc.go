// Package openlineage sends OpenLineage run events (https://openlineage.io, spec 2-0-2) to catalogs
// such as Marquez or DataHub: START, RUNNING and COMPLETE, FAIL or ABORT of trainings and searches,
// with their inputs and outputs by address and digest, and the trials of a search as child runs.
//
// They are made from the event log, by a reader of its own: jobs never wait for a receiver, and
// nothing is lost while one is away. The same event of the log always makes the same run events,
// with the same run ids and times, so that a repetition does not matter. Read Of first, then
// Exporter.
package openlineage
