// Package tuner does one tune job: the module's tuner_fn searches for hyperparameters, as it was written. What every job has in
// common is functions/execution's; what is a search's own is read top to bottom in Tuner.Work: what decides it, what the module
// is told, what it must leave, which fact tells of it.
//
// What the module keeps in its working folder, a KerasTuner project say, survives a lost worker: the next attempt goes on with
// the search. Read Tuner first.
package tuner
