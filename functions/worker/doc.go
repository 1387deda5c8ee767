// Package worker takes jobs off the queue and sees each one through: claim, hold the lease, handle, publish, settle. It owns
// the goroutines, and it alone turns what went wrong into a fate:
//
//	bad input, incomplete                     never
//	cancelled                                 told by a fact, and done with
//	module raised, model failed its check     again, up to Limits.Attempts; then never
//	process crashed, over memory or time      again, up to Limits.Crashes; then never
//	all else: bus or store away, we stop      again, without limit
//
// Never means, in this order: the message goes to DEAD with the reason and the facts behind it, a fact tells of the failure,
// the message leaves the queue. Nothing is dropped in silence.
//
// It knows no store, no module and no kind of training: that is a Function's business. Read Worker first.
package worker
