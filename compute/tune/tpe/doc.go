// Package tpe has the densities of the tree-structured Parzen estimator (Bergstra et al. 2011;
// arXiv:2304.11127): mixtures of kernels around points that were tried, one for those that did well
// and one for the others. Values at which the first is high and the second low are worth trying.
//
// The package knows places on axes, but not parameters, trials or scores: compute/tune/suggest
// does. Read Density.
package tpe
