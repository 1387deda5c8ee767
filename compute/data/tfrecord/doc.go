// Package tfrecord reads and writes TFRecord files, plain or gzip: the framing, not the content of
// the records. Examples and event files consist of such records. Read Reader first.
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
// A record is held in memory as a whole, so one of more than CurrentLimit bytes is refused by its
// length, before any of it is read or inflated: 256 MiB, if neither STOKER_MAX_RECORD_MIB nor
// Reader.Limit sets another limit. Memory grows with the bytes of the file, not with the lengths
// that it claims.
package tfrecord
