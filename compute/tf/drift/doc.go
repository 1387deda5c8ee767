// Package drift determines whether the data of one run differs so much from that of another that
// what was learned about the one may not hold for the other.
//
// ReadShape computes digests of the artifacts that define the features: the schema and the
// transform graph, each by its meaning, since TensorFlow writes different bytes in every run.
// ReadStatistics reads the distributions that TensorFlow Data Validation found, and
// Statistics.Farthest compares two of them by that library's measures.
//
// The package reads local files, which it does not trust: the numbers of bytes, features and
// buckets are limited. Values are immutable and may be used by several goroutines.
package drift
