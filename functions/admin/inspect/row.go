package inspect

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// Row is one record, by feature. In JSON it is an object of lists.
type Row map[string]Values

// Values are the values of a feature in one record.
type Values struct {
	Type     string // bytes, float, int64; "" for a feature without a list
	Sequence bool   // if set, Steps has the values, else List
	List     []any  // string, float64, int64
	Steps    [][]any
}

// MarshalJSON encodes the values as a list, those of a sequence as a list of lists.
func (v Values) MarshalJSON() ([]byte, error) {
	if v.Sequence {
		return json.Marshal(v.Steps)
	}
	return json.Marshal(v.List)
}

const (
	payloadExample  = "tf.Example"
	payloadSequence = "tf.SequenceExample"
	payloadUnknown  = "unknown"
)

// decodeRow decodes a tf.Example or a tf.SequenceExample, and returns which it is; it returns
// nothing for other records.
func decodeRow(data []byte) (Row, string) {
	var p examplepb.SequenceExample // on the wire a tf.Example is one without feature lists
	err := proto.Unmarshal(data, &p)
	empty := p.Context == nil && p.FeatureLists == nil
	if err != nil || len(p.ProtoReflect().GetUnknown()) > 0 || len(data) > 0 && empty {
		return nil, payloadUnknown
	}
	row := Row{}
	for name, f := range p.GetContext().GetFeature() {
		kind, list := valuesOf(f)
		row[name] = Values{Type: kind, List: list}
	}
	payload := payloadExample
	for name, list := range p.GetFeatureLists().GetFeatureList() {
		payload = payloadSequence
		v := Values{Sequence: true, Steps: [][]any{}}
		for _, f := range list.GetFeature() {
			kind, step := valuesOf(f)
			v.Type, v.Steps = cmp.Or(v.Type, kind), append(v.Steps, step)
		}
		row[name] = v
	}
	return row, payload
}

func valuesOf(f *examplepb.Feature) (kind string, list []any) {
	list = []any{}
	switch of := f.GetKind().(type) {
	case *examplepb.Feature_BytesList:
		kind = "bytes"
		for _, b := range of.BytesList.GetValue() {
			list = append(list, readable(b))
		}
	case *examplepb.Feature_FloatList:
		kind = "float"
		for _, x := range of.FloatList.GetValue() {
			list = append(list, number(float64(x), 32))
		}
	case *examplepb.Feature_Int64List:
		kind = "int64"
		for _, n := range of.Int64List.GetValue() {
			list = append(list, n)
		}
	}
	return kind, list
}

// readable returns bytes as text if they are valid text, else as base64 with that word before it.
func readable(b []byte) string {
	if utf8.Valid(b) && !strings.ContainsFunc(string(b), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
		return string(b)
	}
	return "base64:" + base64.StdEncoding.EncodeToString(b)
}

// number returns x for JSON, which has no NaN and no infinities: these become text. A float32
// becomes the shortest decimal that represents it.
func number(x float64, bits int) any {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	case bits == 32:
		return float32(x)
	}
	return x
}

// featureSet gathers what rows show of features.
type featureSet struct {
	rows   int
	byName map[string]*Feature
}

// add counts a record if it is among the first ones; of the others only the types count.
func (s *featureSet) add(row Row, at string, counted bool) {
	if counted {
		s.rows++
	}
	if s.byName == nil {
		s.byName = map[string]*Feature{}
	}
	for name, v := range row {
		count := len(v.List) + len(v.Steps)
		f := s.byName[name]
		switch {
		case f == nil && (!counted || len(s.byName) >= maxFeatures):
			continue
		case f == nil:
			f = &Feature{Name: name, Min: count, Sequence: v.Sequence}
			s.byName[name] = f
		}
		f.Type = cmp.Or(f.Type, v.Type)
		if v.Type != "" && v.Type != f.Type && f.Other == "" {
			f.Other, f.OtherAt = v.Type, at
		}
		if counted {
			f.Present++
			f.Min, f.Max = min(f.Min, count), max(f.Max, count)
		}
	}
}

// list returns all features, by name.
func (s *featureSet) list() []Feature {
	features := []Feature{}
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		f := *s.byName[name]
		f.Of = s.rows
		features = append(features, f)
	}
	return features
}
