// Package example reads training data: files of tf.Example or tf.SequenceExample records become
// batches of columns, as a schema says. Spec says what is read, Batch is what comes out, Reader
// goes from the one to the other: glob patterns, decompression ahead, shuffling, epochs, batches.
//
// Memory is bounded: a record has at most Options.MaxRecord bytes (256 MiB), those of a batch and
// of the shuffle buffer together Options.MaxBytes each (1 GiB), and records of more than 16 MiB are
// read ahead one at a time. Columns may be up to eight times as large as the records they are
// decoded from.
//
// The framing of the files lives in compute/data/tfrecord. What uses the columns (vocabularies,
// one-hot, transform graphs) lives elsewhere in compute.
package example
