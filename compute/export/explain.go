package export

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export/partition"
)

// explain adds to the inputs their sources, which a graph alone doesn't know.
func (m Model) explain(inputs []partition.Input) []partition.Input {
	for i := range inputs {
		in := &inputs[i]
		if from := in.ComputedFrom; from != nil {
			m.explainSource(in, from)
			continue
		}
		in.Note, in.Default = m.origin(in.Name), m.fallback(in.Name)
	}
	return inputs
}

func (m Model) explainSource(in *partition.Input, from *partition.Source) {
	for _, feature := range from.Features() {
		in.Note += "; " + m.origin(feature)
	}
	if from.Crossed == nil {
		from.Default = m.fallback(from.Feature)
	}
	for i := range from.Crossed {
		from.Crossed[i].Default = m.fallback(from.Crossed[i].Feature)
	}
}

func (m Model) origin(feature string) string {
	if m.TransformGraph != "" {
		return fmt.Sprintf("%s is a transformed feature: the transform graph is not part of this file, "+
			"the SavedModel's transform_features signature computes it", feature)
	}
	return feature + " is a feature of the raw examples"
}

// fallback returns the value that replaces one that a row lacks, as a JSON value; nil if every row
// has one.
func (m Model) fallback(feature string) any {
	d, ok := m.Defaults[feature]
	f, known := m.Spec.Find(feature)
	switch {
	case !known:
		return nil
	case ok:
		return plain(d, f.Kind)
	case f.Default != nil:
		return plain(*f.Default, f.Kind)
	case f.VarLen():
		return plain(example.Default{}, f.Kind)
	}
	return nil
}

// plain returns the default of that kind as a JSON value.
func plain(d example.Default, kind example.Kind) any {
	switch kind {
	case example.Int64:
		return d.Int64
	case example.Bytes:
		if !utf8.Valid(d.Bytes) {
			return partition.Bytes{Raw: d.Bytes}
		}
		return string(d.Bytes)
	}
	return jsonNumber(d.Float)
}

// jsonNumber returns x, or its name if JSON can't represent it.
func jsonNumber[F float32 | float64](x F) any {
	switch f := float64(x); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return x
}
