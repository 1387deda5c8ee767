// Package studies is the log of a search for hyperparameters, as those have it who work on the search, look at it or end it. Log reads a
// log, follows it and writes to it by compare-and-swap; Read and Follow look on from outside; List, Find, OfJob and At find a study by what
// people call it; Stop asks for its end. What an entry means is compute/tune; who works on a study is functions/tuner; how its
// outcome is written down is compute/tune/report.
package studies
