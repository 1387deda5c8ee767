package schemagen

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/example/schemapb"
)

const (
	maxFeatures      = 10_000
	maxNameBytes     = 4 << 10
	maxDistinct      = 1000    // strings of one feature
	maxDistinctBytes = 1 << 20 // bytes of these together
)

// SequenceStruct is the name of the struct feature under which a schema has the feature_lists of
// tf.SequenceExamples.
const SequenceStruct = "##SEQUENCE##"

// Statistics summarizes the features of the records of one split. It is for one goroutine at a
// time.
type Statistics struct {
	Split string

	records   int64
	features  map[string]*feature // of tf.Examples and of the context of tf.SequenceExamples
	steps     map[string]*feature // of the feature_lists of tf.SequenceExamples
	sequences bool                // some record has feature_lists
	touched   []*feature          // of the current record
}

// feature accumulates the values of one feature. Kinds are the field numbers of tf.Feature.
type feature struct {
	path    []string // its name, or SequenceStruct and its name
	value   []byte   // serialized tf.Feature or tf.FeatureList of the current record
	pending bool     // value is not counted yet

	kind     example.Kind // 0 until a record has one
	lists    valency      // values of the records; for a feature list: steps of the records
	step     valency      // for a feature list: values of the steps
	integers span         // for an Int64 feature
	strings  tokens       // for a Bytes feature
}

// valency is how many lists there are and how long they are.
type valency struct {
	present      int64 // lists, which may be empty
	total        int64 // of those and of missing lists; for records, Statistics knows the total
	fewest, most int   // length of the lists
}

func (v *valency) add(length int) {
	if v.present == 0 {
		v.fewest = length
	}
	v.present++
	v.fewest, v.most = min(v.fewest, length), max(v.most, length)
}

// fixed reports whether all existing lists have one length other than 0.
func (v valency) fixed() bool { return v.present > 0 && v.fewest == v.most && v.fewest > 0 }

// nested reports whether the feature is a feature list.
func (f *feature) nested() bool { return len(f.path) > 1 }

func (f *feature) name() string { return f.path[len(f.path)-1] }

// levels returns the valencies from the records inwards.
func (s *Statistics) levels(f *feature) []valency {
	outer := f.lists
	outer.total = s.records
	if !f.nested() {
		return []valency{outer}
	}
	return []valency{outer, f.step}
}

// span is the range of integers. The zero value is that of no integers, which TensorFlow Data
// Validation treats as 0 to 0.
type span struct {
	min, max int64
	any      bool
}

func (s *span) add(n int64) {
	if !s.any {
		*s = span{n, n, true}
	}
	s.min, s.max = min(s.min, n), max(s.max, n)
}

// tokens are the distinct strings of a feature, up to a limit.
type tokens struct {
	distinct map[string]struct{} // nil once there are too many
	bytes    int
	any      bool
	tooMany  bool
	badUTF8  bool
	notInt   bool
	integers span
}

func (t *tokens) add(value []byte) {
	t.any = true
	t.badUTF8 = t.badUTF8 || !utf8.Valid(value)
	if !t.notInt {
		n, err := strconv.ParseInt(string(bytes.Trim(value, " \t\n\v\f\r")), 10, 64)
		if t.notInt = err != nil; err == nil {
			t.integers.add(n)
		}
	}
	if _, known := t.distinct[string(value)]; known || t.tooMany {
		return
	}
	if len(t.distinct) >= maxDistinct || t.bytes+len(value) > maxDistinctBytes {
		t.distinct, t.tooMany = nil, true
		return
	}
	if t.distinct == nil {
		t.distinct = map[string]struct{}{}
	}
	t.distinct[string(value)] = struct{}{}
	t.bytes += len(value)
}

// sorted returns the distinct strings by their bytes; nil if there are too many.
func (t *tokens) sorted() []string { return slices.Sorted(maps.Keys(t.distinct)) }

// NewStatistics returns the statistics of a split without records. Notes contain the name.
func NewStatistics(split string) *Statistics {
	return &Statistics{Split: split, features: map[string]*feature{}, steps: map[string]*feature{}}
}

// Records returns how many records were added.
func (s *Statistics) Records() int64 { return s.records }

// Add adds one serialized tf.Example or tf.SequenceExample. The error is an *example.Error without
// a file; s can't be used after it.
func (s *Statistics) Add(record []byte) error {
	number := s.records
	if err := s.add(record); err != nil {
		if bad, ok := errors.AsType[*example.Error](err); ok {
			bad.Record = number
			return bad
		}
		return &example.Error{Record: number, Err: err}
	}
	s.records++
	return nil
}

func (s *Statistics) add(record []byte) error {
	err := fields(record, func(number protowire.Number, message []byte) error {
		switch number {
		case 1:
			return fields(message, s.context)
		case 2:
			s.sequences = true
			return fields(message, s.featureList)
		}
		return nil
	})
	for _, f := range s.touched {
		if err == nil {
			if err = f.count(); err != nil {
				err = &example.Error{Feature: f.name(), Err: err}
			}
		}
		f.value, f.pending = nil, false
	}
	s.touched = s.touched[:0]
	return err
}

func (s *Statistics) context(number protowire.Number, entry []byte) error {
	if number != 1 {
		return nil
	}
	return s.entry(s.features, nil, entry)
}

func (s *Statistics) featureList(number protowire.Number, entry []byte) error {
	if number != 1 {
		return nil
	}
	return s.entry(s.steps, []string{SequenceStruct}, entry)
}

// entry adds one entry of a map of features. Of two with the same key the last one counts.
func (s *Statistics) entry(features map[string]*feature, above []string, message []byte) error {
	var key, value []byte
	var parts joined
	err := fields(message, func(number protowire.Number, data []byte) error {
		switch number {
		case 1:
			key = data
		case 2:
			value = parts.append(value, data)
		}
		return nil
	})
	if err != nil {
		return err
	}
	f := features[string(key)]
	if f == nil {
		switch {
		case len(key) > maxNameBytes:
			return fmt.Errorf("the name of a feature has %d bytes, expected at most %d", len(key), maxNameBytes)
		case !utf8.Valid(key):
			return fmt.Errorf("feature %q: the name is not valid UTF-8", key)
		case len(s.features)+len(s.steps) >= maxFeatures:
			return fmt.Errorf("more than %d features: are their names data?", maxFeatures)
		}
		f = &feature{path: append(slices.Clone(above), string(key))}
		features[string(key)] = f
	}
	if !f.pending {
		s.touched = append(s.touched, f)
	}
	f.value, f.pending = value, true
	return nil
}

// count counts the values of the current record.
func (f *feature) count() error {
	if f.nested() {
		return f.countSteps()
	}
	return f.countList(f.value, &f.lists)
}

// countSteps counts the steps of the current record. A step without a kind is a missing one.
func (f *feature) countSteps() error {
	n := 0
	err := fields(f.value, func(number protowire.Number, step []byte) error {
		if number != 1 {
			return nil
		}
		n++
		if err := f.countList(step, &f.step); err != nil {
			return fmt.Errorf("step %d: %w", n-1, err)
		}
		return nil
	})
	f.lists.add(n)
	f.step.total += int64(n)
	return err
}

// countList counts the values of a tf.Feature. One without a kind has no list.
func (f *feature) countList(feature []byte, lists *valency) error {
	kind, list, err := kindOf(feature)
	if err != nil || kind == 0 {
		return err
	}
	if f.kind != 0 && f.kind != kind {
		return fmt.Errorf("values are %s, those of an earlier record or step %s", kind, f.kind)
	}
	f.kind = kind
	n := 0
	switch kind {
	case example.Bytes:
		err = fields(list, func(number protowire.Number, value []byte) error {
			if number == 1 {
				n++
				f.strings.add(value)
			}
			return nil
		})
	case example.Float:
		n, err = countFloats(list)
	default:
		n, err = f.addIntegers(list)
	}
	if err == nil {
		lists.add(n)
	}
	return err
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

// kindOf splits a tf.Feature into the kind of its list and that list; kind 0 means that it has no
// list.
func kindOf(value []byte) (kind example.Kind, list []byte, err error) {
	var parts joined
	err = fields(value, func(number protowire.Number, data []byte) error {
		switch {
		case number > 3:
		case example.Kind(number) == kind:
			list = parts.append(list, data)
		default:
			kind, list, parts = example.Kind(number), data, joined{}
		}
		return nil
	})
	return kind, list, err
}

func countFloats(list []byte) (n int, err error) {
	for len(list) > 0 {
		number, wire, size := protowire.ConsumeField(list)
		if size < 0 {
			return 0, malformed(size)
		}
		body := list[protowire.SizeTag(number):size]
		switch {
		case number == 1 && wire == protowire.BytesType:
			packed, _ := protowire.ConsumeBytes(body)
			if len(packed)%4 != 0 {
				return 0, errMalformed
			}
			n += len(packed) / 4
		case number == 1 && wire == protowire.Fixed32Type:
			n++
		}
		list = list[size:]
	}
	return n, nil
}

func (f *feature) addIntegers(list []byte) (n int, err error) {
	add := func(values []byte) error {
		for len(values) > 0 {
			v, size := protowire.ConsumeVarint(values)
			if size < 0 {
				return malformed(size)
			}
			f.integers.add(int64(v))
			values, n = values[size:], n+1
		}
		return nil
	}
	for len(list) > 0 {
		number, wire, size := protowire.ConsumeField(list)
		if size < 0 {
			return 0, malformed(size)
		}
		body := list[protowire.SizeTag(number):size]
		switch {
		case number == 1 && wire == protowire.BytesType:
			packed, _ := protowire.ConsumeBytes(body)
			err = add(packed)
		case number == 1 && wire == protowire.VarintType:
			err = add(body)
		}
		if err != nil {
			return 0, err
		}
		list = list[size:]
	}
	return n, nil
}

var errMalformed = errors.New("malformed protocol buffer")

func malformed(code int) error { return fmt.Errorf("%w: %w", errMalformed, protowire.ParseError(code)) }

// fields calls take with each length-delimited field of a message and skips all others. The bytes
// are a part of message.
func fields(message []byte, take func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, wire, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return malformed(tag)
		}
		message = message[tag:]
		size := protowire.ConsumeFieldValue(number, wire, message)
		if size < 0 {
			return malformed(size)
		}
		if wire == protowire.BytesType {
			data, _ := protowire.ConsumeBytes(message)
			if err := take(number, data); err != nil {
				return err
			}
		}
		message = message[size:]
	}
	return nil
}

// typeOf returns the schema's type of a feature.
func (f *feature) typeOf() schemapb.FeatureType {
	switch f.kind {
	case example.Float:
		return schemapb.FeatureType_FLOAT
	case example.Int64:
		return schemapb.FeatureType_INT
	}
	return schemapb.FeatureType_BYTES
}
