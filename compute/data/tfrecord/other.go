package tfrecord

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// otherFormats are files of records that TFX and its neighbours write too, by the bytes they begin
// with.
var otherFormats = []struct{ name, magic string }{
	{"Parquet", "PAR1"},                             // parquet-format/README.md
	{"Avro", "Obj\x01"},                             // Avro 1.12, object container files
	{"Riegeli", "\x83\xaf\x70\xd1\x0d\x88\x4a\x3f"}, // doc/riegeli_records_file_format.md
	{"zstd", "\x28\xb5\x2f\xfd"},                    // RFC 8878
}

// named says by name which other format a file is in that does not begin with a record; else it
// returns err.
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

// isText is never true of a record's head: the length of one that fits into memory has bytes of
// zero.
func isText(head []byte) bool {
	return !bytes.ContainsFunc(head, func(r rune) bool { return r == utf8.RuneError || r < ' ' && r != '\t' && r != '\r' && r != '\n' })
}
