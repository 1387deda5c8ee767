package graph

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// ErrFiles is in the chain of the error if a model's variables or vocabularies can't be read.
var ErrFiles = errors.New("the model's files are damaged")

// load reads a saved tensor.
func (s *Session) load(from origin) (tensor.Tensor, error) {
	if s.bundle == nil {
		return nil, fmt.Errorf("%w: tensor %q was saved, but there is no %s.index", ErrFiles, from.key, variablesPrefix)
	}
	start := s.budget.Mark()
	raw, err := s.bundle.Size(from.key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFiles, err)
	}
	if err := errors.Join(s.budget.Poll(), s.budget.Charge(raw)); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", from.key, err)
	}
	t, err := s.bundle.Tensor(from.key)
	s.budget.Reset(start)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFiles, err)
	}
	if err := errors.Join(tensor.CheckShape(t.Shape(), tensor.MaxElements), s.budget.Charge(ops.SizeOf(t)+ops.TextOf(t))); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", from.key, err)
	}
	s.rounding.apply(from.key, t)
	if from.part == "" {
		return t, nil
	}
	at, size, err := partOf(from.part, t.Shape())
	if err != nil {
		return nil, fmt.Errorf("tensor %q: part %q: %w", from.key, from.part, err)
	}
	if err := s.budget.Charge(ops.SizeOf(t)); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", from.key, err)
	}
	part, err := tensor.Slice(t, at, size)
	if err != nil {
		return nil, fmt.Errorf("tensor %q: part %q: %w", from.key, from.part, err)
	}
	s.budget.Reset(start) // the whole tensor isn't needed any more
	return part, s.budget.Charge(ops.SizeOf(part) + ops.TextOf(part))
}

// partOf reads where a part of a tensor begins and how large it is: the shape of the whole, then
// for each dimension "start,size", or "-" for all of it (tensorflow/core/framework/tensor_slice.h).
func partOf(text string, shape []int) (start, size []int, err error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, nil, errors.New("is empty")
	}
	dims := strings.Split(words[len(words)-1], ":")
	if len(dims) != len(shape) {
		return nil, nil, fmt.Errorf("has %d dimensions, the tensor has shape %v", len(dims), shape)
	}
	for i, dim := range dims {
		if dim == "-" {
			start, size = append(start, 0), append(size, shape[i])
			continue
		}
		from, length, _ := strings.Cut(dim, ",")
		begin, beginErr := strconv.Atoi(from)
		many, manyErr := strconv.Atoi(length)
		if err := errors.Join(beginErr, manyErr); err != nil {
			return nil, nil, err
		}
		start, size = append(start, begin), append(size, many)
	}
	return start, size, nil
}
