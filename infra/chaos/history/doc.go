// Package history reads what a bus holds after a chaos test, and checks it against the promises of
// the project: one model for each cause, none after the end of a run was announced, no acknowledged
// event without an outcome or a wait that the bus names.
//
// It is independent of the product, so that it does not repeat a defect of the product: it does not
// import events or functions, reads messages with nats.go and encoding/json alone, and has its own
// code to derive ids and decide joins. A search that fails makes further outcomes, which it would
// report.
//
// Read History first, then Check.
package history
