// Package example reads training data: files of tf.Example or tf.SequenceExample records become batches of columns, as a
// schema says. Spec says what is read, Batch is what comes out, Reader goes from the one to the other: glob patterns,
// decompression ahead, shuffling, epochs, batches.
//
// The framing of the files lives in compute/record. What is done with the columns (vocabularies, one-hot, transform graphs)
// lives elsewhere in compute.
package example
