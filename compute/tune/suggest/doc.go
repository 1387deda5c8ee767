// Package suggest says what a study tries next: random, grid, Hyperband, ASHA, Bayesian, TPE and BOHB, one file each, as pure functions of
// a tune.Study. Same log, same suggestion, on any worker: randomness comes from a counter-based stream of (seed, trial, parameter), and
// what is kept between two calls, a fitted model say, is only ever a memory of what would be computed again.
//
// Nothing here knows how trials are run or logs are kept. Read Next first.
package suggest
