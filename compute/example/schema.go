package example

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/example/schemapb"
)

// maxSchemaSize bounds what ParseSchema reads, in bytes. String domains make schemas long, but not this long.
const maxSchemaSize = 256 << 20

// Schema is what TensorFlow Metadata knows of a data set: of its fields those that decide how examples are read.
type Schema struct {
	name  string
	proto *schemapb.Schema
}

// ReadSchema reads a schema file: the schema.pbtxt of a Schema artifact or of a TransformGraph's metadata folders.
func ReadSchema(path string) (*Schema, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	defer f.Close()
	return ParseSchema(path, f)
}

// ParseSchema reads a tensorflow.metadata.v0.Schema in text or binary form; the bytes tell. Fields that don't matter here
// are not checked. The name stands in errors, with the line where the text is bad.
func ParseSchema(name string, r io.Reader) (*Schema, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSchemaSize+1))
	if err != nil {
		return nil, fmt.Errorf("read schema %s: %w", name, err)
	}
	if len(text) > maxSchemaSize {
		return nil, inputError{fmt.Errorf("read schema %s: longer than %d bytes", name, maxSchemaSize)}
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
	return s, nil
}

// isText tells the two forms apart: in binary a feature's type is a byte below 9, which text never holds.
func isText(b []byte) bool {
	control := func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\v' && r != '\f' }
	return utf8.Valid(b) && !strings.ContainsFunc(string(b), control)
}

// protoError takes the "proto: " off err, which is spelled in two ways at random so that nobody relies on it.
func protoError(err error) error {
	return errors.New(strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0"))
}

// Environments are the schema's default environments: the situations, such as TRAINING and SERVING, for which it was written.
func (s *Schema) Environments() []string { return s.proto.GetDefaultEnvironment() }
