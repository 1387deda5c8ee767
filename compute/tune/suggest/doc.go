// Package suggest returns what a study tries next, by each of tune.Algorithms, one file each, as
// pure functions of a tune.Study. The same log gives the same suggestion on any worker: randomness
// comes from a counter-based stream of (seed, trial, parameter), and what is kept between two
// calls, such as a fitted model, is a cache of what would be computed again.
//
// How trials run and where logs are kept is not known here. Read Next first. To add an algorithm,
// add its name to package tune's algorithms, its function to algorithms, and a file with that
// function.
package suggest
