package storage

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// More are the members of a document that this version doesn't know: a newer one wrote it. Whoever writes the document again writes them
// with it.
type More map[string]json.RawMessage

// readMore decodes an object into value, a pointer to a struct, and returns the members that have no field there.
func readMore(text []byte, value any) (*More, error) {
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if strict.Decode(value) == nil { // as nearly always
		return nil, nil
	}
	var more More
	if err := json.Unmarshal(text, value); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &more); err != nil {
		return nil, err
	}
	for name := range more {
		if isField(reflect.TypeOf(value).Elem(), name) {
			delete(more, name)
		}
	}
	return &more, nil
}

// isField compares names as encoding/json does.
func isField(of reflect.Type, member string) bool {
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "-" && strings.EqualFold(name, member) {
			return true
		}
	}
	return false
}

// writeMore encodes value with more beside it.
func writeMore(value any, more *More) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil || more == nil {
		return text, err
	}
	var members More
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	for name, said := range *more {
		if _, there := members[name]; !there {
			members[name] = said
		}
	}
	return json.Marshal(members)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Commit) UnmarshalJSON(text []byte) (err error) {
	type plain Commit
	c.More, err = readMore(text, (*plain)(c))
	return err
}

// MarshalJSON implements json.Marshaler.
func (c Commit) MarshalJSON() ([]byte, error) {
	type plain Commit
	return writeMore(plain(c), c.More)
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *pointer) UnmarshalJSON(text []byte) (err error) {
	type plain pointer
	p.more, err = readMore(text, (*plain)(p))
	return err
}

// MarshalJSON implements json.Marshaler.
func (p pointer) MarshalJSON() ([]byte, error) {
	type plain pointer
	return writeMore(plain(p), p.more)
}

// UnmarshalJSON implements json.Unmarshaler.
func (one *Checkpoint) UnmarshalJSON(text []byte) (err error) {
	type plain Checkpoint
	one.More, err = readMore(text, (*plain)(one))
	return err
}

// MarshalJSON implements json.Marshaler.
func (one Checkpoint) MarshalJSON() ([]byte, error) {
	type plain Checkpoint
	return writeMore(plain(one), one.More)
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *CheckpointFile) UnmarshalJSON(text []byte) (err error) {
	type plain CheckpointFile
	f.More, err = readMore(text, (*plain)(f))
	return err
}

// MarshalJSON implements json.Marshaler.
func (f CheckpointFile) MarshalJSON() ([]byte, error) {
	type plain CheckpointFile
	return writeMore(plain(f), f.More)
}
