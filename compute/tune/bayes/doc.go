// Package bayes proposes hyperparameters by Bayesian optimization. A Gaussian process predicts the
// results of values that were not tried, with their uncertainty, from those that were; the proposal
// is the values with the greatest expected improvement.
//
// A space becomes a unit cube (cube.go), the observations become a model (model.go), the model a
// surface (surface.go), and the proposal is the highest spot that can be found on it (propose.go,
// climb.go). Everything is a pure function of a Search, to the last bit on processors of one
// architecture; what is remembered between two calls (memory.go) saves time and changes nothing.
// The package does not know logs or trials: compute/tune/suggest does. Read Search first.
package bayes
