// Package suggest chooses the next trial of a study, by each of tune.Algorithms, one file each, as
// pure functions of a tune.Study. The same log gives the same suggestion on any worker: randomness
// comes from a counter-based stream of (seed, trial, parameter), and values kept between two calls,
// such as a fitted model, are only a cache.
//
// # Choices of tpe
//
// Each was tried by itself on 15 of the problems of `task bench:tables`, 20 searches each: ten
// tables of real trainings and five formulas. Numbers are the mean of log10 of the regret after 20,
// 50 and 100 trials, -1.25, -1.85 and -2.45 as it is; 0.3 is a factor of two, and 0.06 is noise.
//
// Those marked * were tried when 20 % of the results were good and 10 came before the first model,
// which gave -1.18, -1.82 and -2.36.
//
// One density for all parameters that are active together, not one for each (Falkner et al. 2018;
// arXiv:2304.11127, section 3.3): good values of a learning rate depend on those of a batch size.
// One for each gives -1.14, -1.40, -1.57*.
//
// Values that were tried are not candidates. In a finite space the best ratio is often at a trial
// that is known: -2.30 after 100 if only the suggestion is compared, and drawn again.
//
// Of the results 15 % are good, at most 25, with weights that fall with their rank
// (arXiv:2304.11127 calls the latter EI weighting). 10 % gives -1.22, -1.75, -2.31, 20 % -1.20,
// -1.84, -2.46, 30 % -2.32 after 100, and the square root of their number -1.15, -1.77, -2.34*.
// Equal weights, or weights that fall with the square of the rank, are within the noise. The good
// ones are not among the others: otherwise -1.19, -1.56, -2.03.
//
// Five results are enough to begin with: 10 give -1.22 after 20 trials, and the same later.
//
// A number with steps, and a choice of numbers, is ordered: a kernel is the part of a bell on the
// value's own part of the axis. As choices without an order they give -1.19, -1.73, -2.27; as if
// the values had no extent -1.22, -1.82, -2.41.
//
// A choice without an order gives each other value as much as one result of weight 1 divided by
// their number. Half and twice as much are within the noise, and so are half and twice the weight
// of the prior, and 24 or 96 candidates instead of 48.
//
// Bells have four fifths of Scott's width. A fifth less is within the noise; one and a half times
// gives -1.19, -1.76, -2.32*, and a lower limit that is twice Bergstra's -1.16, -1.70, -2.24*.
//
// Of the results that are not good the newest 25 have full weight (Bergstra et al. 2013, Hyperopt);
// equal weights are within the noise, and keep results of a study's random beginning as important
// as new ones. A model has at most 500 results, so that a suggestion takes some milliseconds in any
// study.
//
// The package does not know how trials run and where logs are kept. Read Next first. To add an
// algorithm, add its name to package tune's algorithms, its function to algorithms, and a file with
// that function.
package suggest
