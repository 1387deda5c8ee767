// Package tpe has the densities of the tree-structured Parzen estimator (Bergstra et al. 2011;
// arXiv:2304.11127): mixtures of kernels around points that were tried, for those that did well and
// for the others. Where the one is high and the other low is worth a try.
//
// It knows places on axes and no parameters, trials or scores: compute/tune/suggest does. Read
// Density.
package tpe
