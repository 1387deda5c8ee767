// Package history reads what a bus holds after a chaos test, and checks it against the promises of
// the project: one model for each cause, none after the end of a run was announced, no acknowledged
// event without an outcome or a wait that the bus names.
//
// It is written apart from the product, so that a defect of the product is not repeated here: it
// imports nothing of events or functions, reads messages through nats.go and encoding/json alone,
// and derives ids and decides joins by code of its own. A search that fails makes further outcomes,
// which it would report.
//
// Read History first, then Check.
package history
