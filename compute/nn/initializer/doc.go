// Package initializer is how params begin: a Func fills one. Names, formulas and defaults are those
// of Keras 3; the numbers that are drawn are not, since TensorFlow draws by a generator of its own.
// What a layer begins by where nothing is said stands with the layer, in compute/nn.
package initializer
