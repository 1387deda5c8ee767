// Package worker takes jobs off the queue and sees each one through: claim, hold the lease, handle, publish, settle. It owns
// the goroutines, and it alone turns what went wrong into a fate: done, later or never (DESIGN 8).
//
// It knows no store, no module and no kind of training: that is a Function's business. Read Worker first.
package worker
