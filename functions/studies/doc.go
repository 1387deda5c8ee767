// Package studies looks at searches for hyperparameters from outside: it finds a study by what people call it, reads what its log
// comes to, follows it, and asks for its end. Who works on a study is functions/tuner; how its outcome is written down is
// compute/tune/report. Read Read first.
package studies
