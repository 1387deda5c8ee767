// Package space is what a search varies: hyperparameters with their ranges, steps, scales and
// conditions, as KerasTuner has them, and the values that a trial gives them. It reads and writes
// KerasTuner's config byte for byte as Python does.
//
// A value and its place p in [0, 1] are two forms of one thing: Parameter.At and Parameter.Place. A
// random draw is a pure function of (study, trial, parameter). Nothing here knows trials, scores or
// algorithms: compute/tune does. Read Space first.
package space
