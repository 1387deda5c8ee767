// Package gp is Gaussian process regression over the unit cube, as a search for hyperparameters
// needs it: what is to be expected at a point, and how sure that is, from what was seen at others.
// The kernel is a Matérn 5/2 with a length scale for each dimension; its parameters are those of
// the greatest posterior density, by exact gradients. With it come the acquisition functions that
// say how much a point is worth trying.
//
// Formulae are those of Rasmussen & Williams, Gaussian Processes for Machine Learning (2006), named
// as R&W, unless said. Nothing here knows trials or hyperparameters: compute/tune/bayes does.
// Everything is deterministic. Read Process first.
package gp
