package example

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example/schemapb"
)

// Limits of what ParseSchema reads. String domains make schemas long, but not this long; no schema
// has as many features, which take much more memory than their bytes in the file.
const (
	maxSchemaSize     = 16 << 20 // bytes
	maxSchemaFeatures = 100_000
	// In a text: messages of any kind at any depth; in binary form: fields of the schema itself.
	maxSchemaMessages = 1_000_000
)

// Schema is TensorFlow Metadata's description of a data set: the fields of it that determine how
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

// messagesIn returns how many messages a schema has, without parsing it: empty ones take two bytes
// of the file, and a hundred times as much memory. In a text, brackets in strings count too.
func messagesIn(schema []byte) (n int) {
	if isText(schema) {
		return bytes.Count(schema, []byte("{")) + bytes.Count(schema, []byte("<"))
	}
	for ; len(schema) > 0; n++ {
		_, _, size := protowire.ConsumeField(schema)
		if size < 0 {
			return n // the parser reports why
		}
		schema = schema[size:]
	}
	return n
}

// isText reports whether data is text: in binary a feature's type is a byte below 9, which text
// never contains.
func isText(b []byte) bool {
	control := func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\v' && r != '\f' }
	return utf8.Valid(b) && !bytes.ContainsFunc(b, control)
}

// longestProtoError is in bytes.
const longestProtoError = 4 << 10

// protoError removes the "proto: " from err, which is spelled in two ways at random so that nobody
// relies on it, and shortens a text that may quote a word of any length.
func protoError(err error) error {
	text := strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
	if len(text) > longestProtoError {
		text = strings.ToValidUTF8(text[:longestProtoError], "") + "..."
	}
	return errors.New(text)
}

// Environments returns the schema's default environments: the situations, such as TRAINING and
// SERVING, for which it was written.
func (s *Schema) Environments() []string { return s.proto.GetDefaultEnvironment() }

// Spec returns what is read of each record for the schema's Tensors: the feature of each, and those
// with positions or row lengths, which are columns of their own; the reader has to assemble
// tensors. A feature with a FixedLen tensor must be present unless it has a default; one with
// tensors of other layouts, or with several, is read with any number of values.
func (s *Schema) Spec() (Spec, error) {
	tensors, err := s.Tensors()
	if err != nil {
		return nil, err
	}
	var spec Spec
	for _, t := range tensors {
		for _, f := range t.columns() {
			if spec, err = spec.merge(f); err != nil {
				return nil, s.bad(fmt.Errorf("tensor %q: %w", t.Name, err))
			}
		}
	}
	slices.SortFunc(spec, func(a, b Feature) int { return a.compare(b) })
	if err := spec.Validate(); err != nil {
		return nil, s.bad(err)
	}
	return spec, nil
}

// merge adds a feature, or combines it with an existing one so that both can be read.
func (s Spec) merge(f Feature) (Spec, error) {
	i := slices.IndexFunc(s, func(g Feature) bool { return g.Name == f.Name && g.Sequence == f.Sequence })
	if i < 0 {
		return append(s, f), nil
	}
	if s[i].Kind != f.Kind {
		return s, fmt.Errorf("feature %q is read as %v here and as %v by another tensor", f.Name, f.Kind, s[i].Kind)
	}
	if !slices.Equal(s[i].Shape, f.Shape) || (s[i].Shape == nil) != (f.Shape == nil) || !reflect.DeepEqual(s[i].Default, f.Default) {
		s[i].Shape, s[i].Default = nil, nil
	}
	return s, nil
}

// EnvironmentSpec is Spec for one environment, as TensorFlow Metadata defines it: features that
// name another one, or exclude this one, are left out. Labels are often marked so for SERVING.
func (s *Schema) EnvironmentSpec(environment string) (Spec, error) {
	spec, err := s.Spec()
	if err != nil {
		return nil, err
	}
	var absent []string
	for _, f := range s.proto.GetFeature() {
		in := slices.Contains(s.proto.GetDefaultEnvironment(), environment) || slices.Contains(f.GetInEnvironment(), environment)
		if !in || slices.Contains(f.GetNotInEnvironment(), environment) {
			absent = append(absent, f.GetName())
		}
	}
	return spec.Without(absent...), nil
}

func (s *Schema) bad(err error) error { return inputError{fmt.Errorf("schema %s: %w", s.name, err)} }

// StructureDigest returns the SHA-256, in hex, of the schema's features: their names, types and
// shapes, what kind of domain they have, whether every example has them, and how they are
// represented as tensors. It leaves out what depends on the data when a schema is inferred anew:
// limits and values of domains, shares of presence below 1, numbers of values that vary, and the
// order of features.
func (s *Schema) StructureDigest() string {
	structure := proto.CloneOf(s.proto)
	structure.StringDomain, structure.FloatDomain, structure.IntDomain = nil, nil, nil
	structure.Feature = structures(structure.Feature)
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(structure)
	if err != nil {
		panic(err) // a message that was just parsed can be encoded
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// structures removes from features what depends on the data, and sorts them by name.
func structures(features []*schemapb.Feature) []*schemapb.Feature {
	for _, f := range features {
		switch domain := f.DomainInfo.(type) {
		case *schemapb.Feature_Domain:
			f.DomainInfo = &schemapb.Feature_StringDomain{StringDomain: &schemapb.StringDomain{}}
		case *schemapb.Feature_StringDomain:
			domain.StringDomain = &schemapb.StringDomain{}
		case *schemapb.Feature_IntDomain:
			domain.IntDomain = &schemapb.IntDomain{IsCategorical: domain.IntDomain.IsCategorical}
		case *schemapb.Feature_FloatDomain:
			domain.FloatDomain = &schemapb.FloatDomain{}
		case *schemapb.Feature_StructDomain:
			domain.StructDomain.Feature = structures(domain.StructDomain.GetFeature())
		}
		if p := f.Presence; p != nil {
			f.Presence = nil
			if p.GetMinFraction() == 1 {
				f.Presence = &schemapb.FeaturePresence{MinFraction: proto.Float64(1)}
			}
		}
		if c := f.GetValueCount(); c.GetMin() != c.GetMax() {
			f.ShapeType = &schemapb.Feature_ValueCount{ValueCount: &schemapb.ValueCount{}}
		}
	}
	slices.SortStableFunc(features, func(a, b *schemapb.Feature) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return features
}

// setDomain keeps the domains that list the possible values. A reference to a missing domain counts
// as none, as in TensorFlow.
func (s *Schema) setDomain(t *TensorSpec, p *schemapb.Feature) {
	t.Vocabulary = p.GetStringDomain().GetValue()
	ints := p.GetIntDomain()
	if name := p.GetDomain(); name != "" {
		for _, domain := range s.proto.GetStringDomain() {
			if domain.GetName() == name {
				t.Vocabulary = domain.GetValue()
			}
		}
		for _, domain := range s.proto.GetIntDomain() {
			if domain.GetName() == name {
				ints = domain
			}
		}
	}
	t.Categorical = ints.GetIsCategorical()
	if ints != nil && (ints.Min != nil || ints.Max != nil) {
		t.IntRange = &Range{Min: math.MinInt64, Max: math.MaxInt64}
		if ints.Min != nil {
			t.IntRange.Min = ints.GetMin()
		}
		if ints.Max != nil {
			t.IntRange.Max = ints.GetMax()
		}
	}
}
