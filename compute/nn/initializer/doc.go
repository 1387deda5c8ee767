// Package initializer has the initial values of params: a Func fills one. Names, formulas and
// defaults are those of Keras 3; the random numbers are not, because TensorFlow has a generator of
// its own. The defaults of layers are in compute/nn.
package initializer
