// Package gp is Gaussian process regression over the unit cube, as a search for hyperparameters
// needs it: it predicts the value at a point, with its uncertainty, from the values at others. The
// kernel is a Matérn 5/2 with a length scale for each dimension; its parameters are those of the
// greatest posterior density, by exact gradients. The package also has the acquisition functions,
// which say how much a point is worth trying.
//
// Formulas are those of Rasmussen & Williams, Gaussian Processes for Machine Learning (2006),
// called R&W, unless noted otherwise. The package does not know trials or hyperparameters:
// compute/tune/bayes does. Everything is deterministic. Read Process first.
package gp
