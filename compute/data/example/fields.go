package example

import "google.golang.org/protobuf/encoding/protowire"

// fields finds the entries of a map field of a record: Features or FeatureLists, from key to a
// serialized message. It finds all before any is parsed, so that they are parsed in the same order
// in every record, which is a tenth faster if the records' order differs.
type fields struct {
	any    bool
	index  names    // of names in the Spec
	values [][]byte // of the current record, by index in the Spec; nil if absent, and only then
}

// newFields returns fields for those features of spec that are Sequences, or for those that aren't.
func newFields(spec Spec, sequence bool) fields {
	s := fields{values: make([][]byte, len(spec))}
	names := make([]string, len(spec))
	for i, f := range spec {
		if f.Sequence == sequence {
			names[i], s.any = f.Name, true
		}
	}
	s.index = newNames(names)
	return s
}

func (s *fields) reset() { clear(s.values) }

// scan reads one Features or FeatureLists message: repeated field 1, entries of a map.
func (s *fields) scan(entries []byte) error {
	for len(entries) > 0 {
		key, value, size := shortEntry(entries)
		if size == 0 {
			var err error
			if key, value, size, err = anyEntry(entries); err != nil {
				return err
			}
		}
		entries = entries[size:]
		if value == nil {
			continue // another field
		}
		if i := s.index.find(key, 0, len(key)); i >= 0 {
			s.values[i] = value
		}
	}
	return nil
}

// shortEntry splits off the first entry of a map in the usual form: the key, then the value, all
// shorter than 128 bytes. size is that of the entry, 0 if it has another form.
func shortEntry(m []byte) (key, value []byte, size int) {
	const (
		entryTag = 1<<3 | byte(protowire.BytesType)
		keyTag   = 1<<3 | byte(protowire.BytesType)
		valueTag = 2<<3 | byte(protowire.BytesType)
	)
	if len(m) < 6 || m[0] != entryTag || m[1] >= 0x80 || m[2] != keyTag {
		return nil, nil, 0
	}
	end, at := 2+int(m[1]), 4+int(m[3]) // of the entry, and where the value's tag is
	if end > len(m) || at+2 > end || m[at] != valueTag || at+2+int(m[at+1]) != end {
		return nil, nil, 0
	}
	return m[4:at], m[at+2 : end : end], end
}

// anyEntry splits off the first field of a map field's message. value is nil if it is not an entry.
func anyEntry(m []byte) (key, value []byte, size int, err error) {
	f, rest, err := nextField(m)
	if err != nil || !f.message(1) {
		return nil, nil, len(m) - len(rest), err
	}
	key, value, err = entry(f.data)
	return key, value, len(m) - len(rest), err
}

// joined joins the parts of a message. The first one belongs to the record and is not changed; a
// copy has capacity for more, so that many small parts are not copied repeatedly.
type joined struct{ own bool }

func (j *joined) append(value, part []byte) []byte {
	if !j.own {
		value, j.own = value[:len(value):len(value)], true
	}
	return append(value, part...)
}

// entry splits a map entry: field 1 is the key, field 2 the value. A missing one is the empty
// string or the empty message; of two keys the last counts; two values are merged, as for every
// message, and merging serialized messages means joining them.
func entry(message []byte) (key, value []byte, err error) {
	var parts joined
	for len(message) > 0 {
		var f field
		if f, message, err = nextField(message); err != nil {
			return nil, nil, err
		}
		switch {
		case f.wire != protowire.BytesType:
		case f.number == 1:
			key = f.data
		case f.number == 2 && value == nil:
			value = f.data
		case f.number == 2:
			value = parts.append(value, f.data)
		}
	}
	if value == nil {
		value = []byte{} // present, and empty
	}
	return key, value, nil
}
