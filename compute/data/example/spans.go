package example

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// span is the position of a feature in its record. No feature begins at 0: the zero span stands for
// an absent one.
type span struct{ at, end uint32 }

// spans are the positions of the features of some records: chunkRows for each column, one a record.
type spans []span

func (s spans) of(column, rows int) []span { return s[column*chunkRows:][:rows] }

func (s spans) clear(columns, row int) {
	for i := range columns {
		s[i*chunkRows+row] = span{}
	}
}

// The tags of a record in the usual encoding: Features and FeatureLists are fields 1 and 2, their
// entries field 1, and of those the key is field 1, the value field 2.
const (
	tag1 = 1<<3 | byte(protowire.BytesType)
	tag2 = 2<<3 | byte(protowire.BytesType)
)

// regular finds the features of a record, as scan does, if it has the usual encoding, and returns
// whether it has.
func (d *Decoder) regular(record []byte, row int) bool {
	d.found.clear(len(d.spec), row)
	for at := 0; at < len(record); {
		n, begin := lengthAt(record, at+1)
		end := begin + n
		if n < 0 || end > len(record) {
			return false
		}
		ok := true
		switch {
		case record[at] == tag1:
			ok = d.context.regular(record[:end], begin, d.found[row:])
		case record[at] == tag2 && d.lists.any:
			ok = d.lists.regular(record[:end], begin, d.found[row:])
		case record[at] != tag2:
			ok = false
		}
		if !ok {
			return false
		}
		at = end
	}
	return true
}

// regular finds the entries of a map field from at to the end of m. Every chunkRows-th element of
// found belongs to the next column.
func (s *fields) regular(m []byte, at int, found []span) bool {
	for at < len(m) {
		key, value, begin, end := entryAt(m, at)
		if end < 0 {
			return false
		}
		if i := s.index.find(m, key, value); i >= 0 {
			found[i*chunkRows] = span{uint32(begin), uint32(end)}
		}
		at = end
	}
	return true
}

// entryAt splits the entry at a position of m: its key ends where value's field begins, and its
// value goes from begin to end. end is -1 if it is not a key followed by a value. Nearly all
// entries are shorter than 128 bytes.
func entryAt(m []byte, at int) (key, value, begin, end int) {
	if at+8 <= len(m) {
		w := binary.LittleEndian.Uint64(m[at:]) // tag, length, tag, length
		end = at + 2 + int(w>>8&0x7f)
		value = at + 4 + int(w>>24&0x7f)
		if w&0x80ff80ff == uint64(tag1)|uint64(tag1)<<16 && value+2 <= end && end <= len(m) &&
			int(binary.LittleEndian.Uint16(m[value:])) == int(tag2)|(end-value-2)<<8 {
			return at + 4, value, value + 2, end
		}
	}
	return longEntryAt(m, at)
}

// longEntryAt is entryAt of an entry of any length.
func longEntryAt(m []byte, at int) (key, value, begin, end int) {
	if m[at] != tag1 {
		return 0, 0, 0, -1
	}
	n, at := lengthAt(m, at+1)
	if end = at + n; n < 0 || end > len(m) || n == 0 || m[at] != tag1 {
		return 0, 0, 0, -1
	}
	n, key = lengthAt(m, at+1)
	if value = key + n; n < 0 || value >= end || m[value] != tag2 {
		return 0, 0, 0, -1
	}
	if n, begin = lengthAt(m, value+1); n < 0 || begin+n != end {
		return 0, 0, 0, -1
	}
	return key, value, begin, end
}

// lengthAt reads the length at a position of m, and where the bytes of that length begin. It is -1
// if there is none, or none of up to 4 bytes.
func lengthAt(m []byte, at int) (length, begin int) {
	if at < len(m) && m[at] < 0x80 {
		return int(m[at]), at + 1
	}
	return longLengthAt(m, at)
}

func longLengthAt(m []byte, at int) (length, begin int) {
	for i := 0; i < 4 && at+i < len(m); i++ {
		length |= int(m[at+i]&0x7f) << (7 * i)
		if m[at+i] < 0x80 {
			return length, at + i + 1
		}
	}
	return -1, 0
}
