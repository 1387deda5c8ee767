// Package openlineage tells of what Stoker does as OpenLineage run events (https://openlineage.io, spec 2-0-2), for catalogues such as
// Marquez or DataHub: START, RUNNING and COMPLETE, FAIL or ABORT of trainings and searches, with what they read and made by address and
// digest, and the trials of a search as runs of their own, below it.
//
// Events are made of the log of facts, by one reader beside it: jobs never wait for a receiver, and nothing is lost while one is away. The
// same fact always makes the same events, with the same run ids and times, so that a receiver that is told twice knows no more than
// before. Read Of first, then Exporter.
package openlineage
