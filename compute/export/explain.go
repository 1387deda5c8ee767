package export

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/cut"
	"github.com/stoker-ml/stoker/compute/example"
)

// explain adds to what the inputs are where they come from, which a graph alone doesn't know.
func (m Model) explain(inputs []cut.Input) []cut.Input {
	for i := range inputs {
		in := &inputs[i]
		feature := in.Name
		if in.ComputedFrom != nil {
			feature = in.ComputedFrom.Feature
			in.Note += "; "
		}
		in.Note += m.origin(feature)
		switch fallback := m.fallback(feature); {
		case in.ComputedFrom != nil:
			in.ComputedFrom.Default = fallback
		default:
			in.Default = fallback
		}
	}
	return inputs
}

func (m Model) origin(feature string) string {
	if m.TransformGraph != "" {
		return fmt.Sprintf("%s is a transformed feature: the transform graph is not part of this file, "+
			"the SavedModel's transform_features signature computes it", feature)
	}
	return feature + " is a feature of the raw examples"
}

// fallback is what stands for a value that a row lacks, as JSON has it; nil where every row has one.
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

// plain is the default of that kind in JSON, which has no word for some numbers.
func plain(d example.Default, kind example.Kind) any {
	switch x := float64(d.Float); {
	case kind == example.Int64:
		return d.Int64
	case kind == example.Bytes:
		return string(d.Bytes)
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	return d.Float
}
