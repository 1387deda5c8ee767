package tfrecord

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Errors of a file of records. An *Error wraps one of these, or an error of the operating system.
var (
	ErrTruncated      = errors.New("truncated")
	ErrLengthChecksum = errors.New("checksum of the length does not match")
	ErrDataChecksum   = errors.New("checksum of the data does not match")
	ErrNotGzip        = errors.New("not a gzip file, though its name ends in .gz")
	ErrGzip           = errors.New("damaged gzip stream")
	ErrTooLong        = errors.New("longer than a record may be")
)

// Error is an error at a position of a file of records.
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

// Corrupt reports whether err is about the bytes of the file, which no retry repairs, and not about
// reading them.
func Corrupt(err error) bool {
	for _, bad := range []error{ErrTruncated, ErrLengthChecksum, ErrDataChecksum, ErrNotGzip, ErrGzip, ErrTooLong} {
		if errors.Is(err, bad) {
			return true
		}
	}
	return false
}

// otherFormats are other formats of records that TFX and related programs write, by their first
// bytes.
var otherFormats = []struct{ name, magic string }{
	{"Parquet", "PAR1"},                             // parquet-format/README.md
	{"Avro", "Obj\x01"},                             // Avro 1.12, object container files
	{"Riegeli", "\x83\xaf\x70\xd1\x0d\x88\x4a\x3f"}, // doc/riegeli_records_file_format.md
	{"zstd", "\x28\xb5\x2f\xfd"},                    // RFC 8878
}

// named returns an error that names the format of a file that does not begin with a record, if it
// is a known one; else it returns err.
func named(head []byte, err error) error {
	for _, other := range otherFormats {
		if bytes.HasPrefix(head, []byte(other.magic)) {
			return fmt.Errorf("%w: a %s file: TFRecord is read, plain or gzip", err, other.name)
		}
	}
	if isText(head) {
		return fmt.Errorf("%w: a text file, like CSV or JSON: TFRecord is read, plain or gzip", err)
	}
	return err
}

// isText is never true for a record's head: the length of one that fits into memory contains zero
// bytes.
func isText(head []byte) bool {
	return !bytes.ContainsFunc(head, func(r rune) bool { return r == utf8.RuneError || r < ' ' && r != '\t' && r != '\r' && r != '\n' })
}
