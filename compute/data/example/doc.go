// Package example reads training data: files of tf.Example or tf.SequenceExample records become
// batches of columns, as a schema defines. Spec lists the features to read, Batch is the result,
// and Reader reads: glob patterns, decompression ahead, shuffling, epochs, batches.
//
// Memory is limited: a record has at most Options.MaxRecord bytes (256 MiB), those of a batch and
// of the shuffle buffer together Options.MaxBytes each (1 GiB), and records of more than 16 MiB are
// read ahead one at a time. Columns may be up to eight times as large as the records they are
// decoded from.
//
// compute/data/tfrecord has the framing of the files. Code that uses the columns (vocabularies,
// one-hot, transform graphs) is elsewhere in compute.
package example
