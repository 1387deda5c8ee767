package skew

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// call is one call of a signature: as many rows as it takes at a time.
type call struct {
	inputs map[string]tensor.Tensor
	rows   int
}

// callsOf returns the calls of a signature with rows: serialized, or feature by feature. It removes
// labels from serialized rows. The error is the reason why the signature can't be called with these
// rows.
func callsOf(s savedmodel.Signature, rows []row, labels []string) ([]call, error) {
	if len(rows) == 0 {
		return nil, errors.New("there are no rows to ask")
	}
	at, err := batchOf(s)
	if err != nil {
		return nil, err
	}
	if at < 1 && !takesExamples(s, rows) && !alike(s, rows) {
		at = 1 // rows have lists of different lengths
	}
	if at < 1 {
		at = len(rows)
	}
	var calls []call
	for first := 0; first < len(rows); first += at {
		part := rows[first:min(first+at, len(rows))]
		padded := part
		for len(padded) < at {
			padded = append(slices.Clone(padded), part[len(part)-1])
		}
		inputs, err := requests(s, padded, labels)
		if err != nil {
			return nil, err
		}
		calls = append(calls, call{inputs, len(padded)})
	}
	return calls, nil
}

// maxFixedBatch is the largest batch of a signature that takes batches of one size only: the last
// row is repeated to fill it.
const maxFixedBatch = 1024

// batchOf returns how many rows a signature takes at a time: 0 for any number.
func batchOf(s savedmodel.Signature) (int, error) {
	batch := 0
	for _, in := range s.Inputs {
		if in.Shape == nil {
			continue
		}
		if in.Layout != graph.Dense || len(in.Shape) == 0 {
			return 0, fmt.Errorf("signature %s: input %q is no dense tensor of rows", s.Name, in.Name)
		}
		if d := in.Shape[0]; d >= 0 {
			if d == 0 || batch > 0 && batch != d || d > maxFixedBatch {
				return 0, fmt.Errorf("signature %s: input %q takes %d rows at once", s.Name, in.Name, d)
			}
			batch = d
		}
	}
	return batch, nil
}

// takesExamples reports whether a signature has one input, of strings, that is not one of the rows'
// features.
func takesExamples(s savedmodel.Signature, rows []row) bool {
	if len(s.Inputs) != 1 || s.Inputs[0].DType.String() != "DT_STRING" || len(s.Inputs[0].Shape) > 1 {
		return false
	}
	name := s.Inputs[0].Name
	return !slices.ContainsFunc(rows, func(r row) bool { return r.features[r.feature(name)] != nil })
}

// requests returns the tensor of serialized rows for one call.
func requests(s savedmodel.Signature, rows []row, labels []string) (map[string]tensor.Tensor, error) {
	if !takesExamples(s, rows) {
		return named(s, rows)
	}
	var texts []string
	for _, r := range rows {
		text, err := r.request(labels)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	t, err := tensor.New([]int{len(texts)}, texts)
	return map[string]tensor.Tensor{s.Inputs[0].Name: t}, err
}

// named returns tensors of the features that a signature names as its inputs.
func named(s savedmodel.Signature, rows []row) (map[string]tensor.Tensor, error) {
	inputs := map[string]tensor.Tensor{}
	for _, in := range s.Inputs {
		t, err := tensorOf(in, rows)
		if err != nil {
			return nil, fmt.Errorf("signature %s: input %q: %w", s.Name, in.Name, err)
		}
		inputs[in.Name] = t
	}
	return inputs, nil
}

// alike reports whether all rows have the same number of values of each input.
func alike(s savedmodel.Signature, rows []row) bool {
	for _, in := range s.Inputs {
		for _, r := range rows[1:] {
			if r.values(r.feature(in.Name)).len() != rows[0].values(rows[0].feature(in.Name)).len() {
				return false
			}
		}
	}
	return true
}

// tensorOf returns the tensor of a feature of all rows for a signature. Every row must have as many
// values as its shape; if one dimension of the shape is unknown, all rows must have the same
// number.
func tensorOf(in graph.Spec, rows []row) (tensor.Tensor, error) {
	if in.Layout != graph.Dense || len(in.Shape) == 0 {
		return nil, errors.New("is no dense tensor of rows")
	}
	shape := append([]int{len(rows)}, in.Shape[1:]...)
	width, open := 1, -1
	for i, d := range shape[1:] {
		if d < 0 && open >= 0 {
			return nil, fmt.Errorf("has shape %v", in.Shape)
		}
		if d < 0 {
			open = i + 1
			continue
		}
		width *= d
	}
	if open >= 0 {
		n := rows[0].values(rows[0].feature(in.Name)).len()
		if n == 0 || width == 0 || n%width != 0 {
			return nil, fmt.Errorf("has shape %v, row 0 has %d values", in.Shape, n)
		}
		shape[open] = n / width
		width = n
	}
	all := values{}
	for i, r := range rows {
		v := r.values(r.feature(in.Name))
		if v.len() != width {
			return nil, fmt.Errorf("row %d has %d values of it, wants %d", i, v.len(), width)
		}
		all.floats, all.ints, all.texts = append(all.floats, v.floats...), append(all.ints, v.ints...), append(all.texts, v.texts...)
	}
	return all.tensor(in.DType.String(), shape)
}

// feature returns the feature with the name of an input: signatures have names that are valid
// keywords in Python, and Keras adds the names of its inputs.
func (r row) feature(input string) string {
	if r.features[input] != nil {
		return input
	}
	for name := range r.features {
		if savedmodel.Keyword(name) == input || strings.ReplaceAll(name, " ", "_") == input {
			return name
		}
	}
	return input
}

// tensor returns a list as a tensor of that type; integers may become floats.
func (v values) tensor(dtype string, shape []int) (tensor.Tensor, error) {
	isInts, isFloats := v.floats == nil && v.texts == nil, v.texts == nil && (v.floats == nil || v.ints == nil)
	switch {
	case dtype == "DT_STRING" && v.floats == nil && v.ints == nil:
		return tensor.New(shape, v.texts)
	case dtype == "DT_INT64" && isInts:
		return tensor.New(shape, v.ints)
	case dtype == "DT_INT32" && isInts:
		return tensor.New(shape, convert[int32](v))
	case dtype == "DT_FLOAT" && isFloats:
		return tensor.New(shape, convert[float32](v))
	case dtype == "DT_DOUBLE" && isFloats:
		return tensor.New(shape, convert[float64](v))
	}
	return nil, fmt.Errorf("takes %s, the rows hold something else", dtype)
}

// convert returns the numbers of v in another type.
func convert[T int32 | float32 | float64](v values) []T {
	list := make([]T, v.len())
	for i := range list {
		list[i] = T(v.number(i))
	}
	return list
}
