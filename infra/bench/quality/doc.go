// Package quality judges how good the suggestions of compute/tune/suggest are: it searches
// functions whose least value is known, and a real model, with many seeds, and sets the best values
// compared with those of KerasTuner and Optuna, whose runs are recorded in testdata.
//
// Peers see the same functions: Serve answers for them over a pipe, so that no function is written
// twice. What the peers are, and how they were run, is described in record.py; task
// bench:tune:record runs it. Read Function, Search and Compare, in this order.
package quality
