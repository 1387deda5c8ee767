package skew

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/savedmodel"
	"github.com/stoker-ml/stoker/compute/tensorflow"
)

// requests are rows as a signature takes them: serialized, or feature by feature.
func requests(s savedmodel.Signature, rows []row, labels []string) (map[string]savedmodel.Tensor, error) {
	if len(s.Inputs) != 1 || s.Inputs[0].DType.String() != "DT_STRING" || len(s.Inputs[0].Shape) > 1 {
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
	t, err := savedmodel.Dense([]int{len(texts)}, texts)
	return map[string]savedmodel.Tensor{s.Inputs[0].Name: t}, err
}

// named are tensors of the features that a signature names as its inputs.
func named(s savedmodel.Signature, rows []row) (map[string]savedmodel.Tensor, error) {
	inputs := map[string]savedmodel.Tensor{}
	for _, in := range s.Inputs {
		t, err := tensorOf(in, rows)
		if err != nil {
			return nil, fmt.Errorf("signature %s: input %q: %w", s.Name, in.Name, err)
		}
		inputs[in.Name] = t
	}
	return inputs, nil
}

// tensorOf is a feature of all rows as the signature takes it. Every row must have the values that its shape has room for.
func tensorOf(in tensorflow.Spec, rows []row) (savedmodel.Tensor, error) {
	if in.Layout != tensorflow.Dense || len(in.Shape) == 0 {
		return nil, errors.New("is no dense tensor of rows")
	}
	width := 1
	for _, d := range in.Shape[1:] {
		width *= d
	}
	if width < 0 {
		return nil, fmt.Errorf("has shape %v", in.Shape)
	}
	all := values{}
	for i, r := range rows {
		v := r.values(r.feature(in.Name))
		if v.len() != width {
			return nil, fmt.Errorf("row %d has %d values of it, wants %d", i, v.len(), width)
		}
		all.floats, all.ints, all.texts = append(all.floats, v.floats...), append(all.ints, v.ints...), append(all.texts, v.texts...)
	}
	return all.tensor(in.DType.String(), append([]int{len(rows)}, in.Shape[1:]...))
}

// feature is the feature that an input is called by: signatures have names that Python takes for keywords.
func (r row) feature(input string) string {
	if r.features[input] != nil {
		return input
	}
	for name := range r.features {
		if savedmodel.Keyword(name) == input {
			return name
		}
	}
	return input
}

// tensor is a list as a tensor of that type; integers may become floats.
func (v values) tensor(dtype string, shape []int) (savedmodel.Tensor, error) {
	switch {
	case dtype == "DT_STRING" && v.floats == nil && v.ints == nil:
		return savedmodel.Dense(shape, v.texts)
	case dtype == "DT_INT64" && v.floats == nil && v.texts == nil:
		return savedmodel.Dense(shape, v.ints)
	case dtype == "DT_FLOAT" && v.texts == nil && (v.floats == nil || v.ints == nil):
		floats := make([]float32, v.len())
		for i := range floats {
			floats[i] = float32(v.number(i))
		}
		return savedmodel.Dense(shape, floats)
	}
	return nil, fmt.Errorf("takes %s, the rows hold something else", dtype)
}
