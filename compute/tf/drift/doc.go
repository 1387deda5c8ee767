// Package drift says whether the data of one run differs so much from that of another that what was
// learned about the one may not hold for the other.
//
// ReadShape digests what says which features there are: the schema and the transform graph, each by
// its meaning, since TensorFlow writes other bytes for every run. ReadStatistics reads the
// distributions that TensorFlow Data Validation found, and Statistics.Farthest compares two of them
// by that library's measures.
//
// All of it works on local files and reads them as hostile: bytes, features and buckets are
// bounded. Values are immutable and may be used by several goroutines.
package drift
