package tfrecord

import (
	"errors"
	"fmt"
)

// What can be wrong with a file of records. An *Error wraps one of these, or an error of the
// operating system.
var (
	ErrTruncated      = errors.New("truncated")
	ErrLengthChecksum = errors.New("checksum of the length does not match")
	ErrDataChecksum   = errors.New("checksum of the data does not match")
	ErrNotGzip        = errors.New("not a gzip file, though its name ends in .gz")
	ErrGzip           = errors.New("damaged gzip stream")
	ErrTooLong        = errors.New("longer than a record may be")
)

// Error says where a file of records is bad.
type Error struct {
	File   string
	Record int64 // number of the record in the file, from 0
	Offset int64 // byte at which the record begins, in the uncompressed stream
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("record %d of %s, at byte %d: %v", e.Record, e.File, e.Offset, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Corrupt says whether err is about the bytes of the file, which no retry mends, and not about
// reading them.
func Corrupt(err error) bool {
	for _, bad := range []error{ErrTruncated, ErrLengthChecksum, ErrDataChecksum, ErrNotGzip, ErrGzip, ErrTooLong} {
		if errors.Is(err, bad) {
			return true
		}
	}
	return false
}
