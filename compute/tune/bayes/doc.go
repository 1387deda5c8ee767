// Package bayes proposes hyperparameters by Bayesian optimisation: a Gaussian process says what to
// expect of values that were not tried, and how sure that is, from those that were; what is
// proposed are the values of the greatest expected improvement.
//
// A space becomes a unit cube (cube.go), what was seen a model (model.go), the model a surface
// (surface.go) and the proposal is the highest spot that can be found on it (propose.go, climb.go).
// Everything is a pure function of a Search, to the last bit on processors of one architecture;
// what is remembered between two calls (memory.go) saves time and changes nothing. Nothing here
// knows logs or trials: compute/tune/suggest does. Read Search first.
package bayes
