// Package space has the parameters of a search: hyperparameters with their ranges, steps, scales
// and conditions, as in KerasTuner, and their values in a trial. It reads and writes KerasTuner's
// config byte for byte as Python does.
//
// A value and its place p in [0, 1] are two forms of one thing: Parameter.At and Parameter.Place
// convert. A random draw is a pure function of (study, trial, parameter). The package does not know
// trials, scores or algorithms: compute/tune does. Read Space first.
package space
