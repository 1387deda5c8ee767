package example

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example/schemapb"
)

// Bounds of what ParseSchema reads. String domains make schemas long, but not this long; of
// features, which take much more memory than they have bytes, nobody has as many.
const (
	maxSchemaSize     = 16 << 20 // bytes
	maxSchemaFeatures = 100_000
	maxSchemaMessages = 1_000_000 // of a text, of any kind, at any depth; of a binary form, fields of the schema itself
)

// Schema is what TensorFlow Metadata knows of a data set: of its fields those that decide how
// examples are read.
type Schema struct {
	name  string
	proto *schemapb.Schema
}

// ReadSchema reads a schema file: the schema.pbtxt of a Schema artifact or of a TransformGraph's
// metadata folders.
func ReadSchema(path string) (*Schema, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	defer f.Close()
	return ParseSchema(path, f)
}

// ParseSchema reads a tensorflow.metadata.v0.Schema in text or binary form, detected by its bytes.
// Fields that don't matter here are not checked. Errors contain the name, with the line where the
// text is bad.
func ParseSchema(name string, r io.Reader) (*Schema, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSchemaSize+1))
	if err != nil {
		return nil, fmt.Errorf("read schema %s: %w", name, err)
	}
	if len(text) > maxSchemaSize {
		return nil, inputError{fmt.Errorf("read schema %s: longer than %d bytes", name, maxSchemaSize)}
	}
	if n := messagesIn(text); n > maxSchemaMessages {
		return nil, inputError{fmt.Errorf("parse schema %s: %d messages in it, expected at most %d", name, n, maxSchemaMessages)}
	}
	s := &Schema{name: name, proto: &schemapb.Schema{}}
	if isText(text) {
		err = prototext.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, s.proto)
	} else {
		err = proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(text, s.proto)
	}
	if err != nil {
		return nil, inputError{fmt.Errorf("parse schema %s: %w", name, protoError(err))}
	}
	if n := len(s.proto.GetFeature()); n > maxSchemaFeatures {
		return nil, inputError{fmt.Errorf("parse schema %s: %d features, expected at most %d", name, n, maxSchemaFeatures)}
	}
	return s, nil
}

// messagesIn is how many messages a schema has, without parsing it: empty ones take two bytes of
// the file, and a hundred times as much memory. In a text, brackets of strings count too.
func messagesIn(schema []byte) (n int) {
	if isText(schema) {
		return bytes.Count(schema, []byte("{")) + bytes.Count(schema, []byte("<"))
	}
	for ; len(schema) > 0; n++ {
		_, _, size := protowire.ConsumeField(schema)
		if size < 0 {
			return n // the parser says why
		}
		schema = schema[size:]
	}
	return n
}

// isText reports whether data is text: in binary a feature's type is a byte below 9, which text
// never holds.
func isText(b []byte) bool {
	control := func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\v' && r != '\f' }
	return utf8.Valid(b) && !bytes.ContainsFunc(b, control)
}

// longestProtoError is in bytes.
const longestProtoError = 4 << 10

// protoError takes the "proto: " off err, which is spelled in two ways at random so that nobody
// relies on it, and cuts a text off that quotes a word of any length.
func protoError(err error) error {
	text := strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
	if len(text) > longestProtoError {
		text = strings.ToValidUTF8(text[:longestProtoError], "") + "..."
	}
	return errors.New(text)
}

// Environments are the schema's default environments: the situations, such as TRAINING and SERVING,
// for which it was written.
func (s *Schema) Environments() []string { return s.proto.GetDefaultEnvironment() }
