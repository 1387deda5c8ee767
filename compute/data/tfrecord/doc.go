// Package tfrecord reads and writes TFRecord files, plain or gzip: the framing, not what is in the
// records. Examples, event files and checkpoints of readers are made of such records. Reader is the
// type to read first.
//
// A record is (tensorflow/core/lib/io/record_writer.h; all numbers little endian):
//
//	uint64  length
//	uint32  masked CRC-32C of the 8 bytes of length
//	byte    data[length]
//	uint32  masked CRC-32C of data
//
// A compressed file is one gzip stream over all of that.
//
// A record is in memory as a whole, so one of more than CurrentLimit bytes is refused by its
// length, before anything of it is read or inflated: 256 MiB, if neither STOKER_MAX_RECORD_MIB nor
// Reader.Limit sets another limit. Memory grows with the bytes that are there.
package tfrecord
