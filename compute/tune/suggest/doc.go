// Package suggest chooses the next trial of a study, by each of tune.Algorithms, one file each, as
// pure functions of a tune.Study. The same log gives the same suggestion on any worker: randomness
// comes from a counter-based stream of (seed, trial, parameter), and values kept between two calls,
// such as a fitted model, are only a cache.
//
// The package does not know how trials run and where logs are kept. Read Next first. To add an
// algorithm, add its name to package tune's algorithms, its function to algorithms, and a file with
// that function.
package suggest
