// Package bayes proposes hyperparameters by Bayesian optimization. A Gaussian process predicts the
// results of values that were not tried, with their uncertainty, from those that were; the
// proposal is the values with the greatest expected improvement.
//
// Two choices were tried on 15 of the problems of `task bench:tables`, 8 searches each. With 5
// results before there is a model, instead of 10, the regret after 20 trials is a third less, and
// after 100 a half more: some searches then stay with the wrong one of several choices. Whether a
// fourth of the trials distrusts the model (see Search.doubt), an eighth or none makes no
// difference there beyond the noise.
//
// The others follow their sources, and were not varied on these problems. Numbers with steps and
// choices of numbers are ordered, and have the places of their values in the kernel; the distance
// of two choices without an order is 0 or 1 (Hutter et al. 2011), with a length scale of its own.
// Length scales have a prior that grows with the number of dimensions (arXiv:2402.02229). The
// worse half of the results is compressed; HEBO (arXiv:2012.03826) has a power transform of all
// instead. A small space is examined point by point, and values that were tried are never
// proposed.
//
// Older studies of other data are sums of predictions that the process is added to: see
// expectation.
//
// A space becomes a unit cube (cube.go), the observations become a model (model.go), the model a
// surface (surface.go), and the proposal is the highest spot that can be found on it (propose.go,
// climb.go). Everything is a pure function of a Search, to the last bit on processors of one
// architecture; what is remembered between two calls (memory.go) saves time and changes nothing.
// The package does not know logs or trials: compute/tune/suggest does. Read Search first.
package bayes
