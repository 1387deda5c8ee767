package main

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// parsedSet is a kind of rows. The first feature of a spec is a plain one of one value.
type parsedSet struct {
	name string
	spec example.Spec
}

// parsedData are 21 plain features, as tabular data has them (8 floats, 6 integers, 5 strings, a
// vector and a label; some 630 bytes a row), and sequences: 4 plain features and 3 lists of up to
// 15 steps.
func parsedData() []parsedSet {
	var table example.Spec
	for _, f := range []struct {
		name  string
		kind  example.Kind
		n     int
		shape int
	}{
		{"category_id", example.Int64, 6, 1}, {"label", example.Int64, 1, 1}, {"measurement", example.Float, 8, 1},
		{"text_token", example.Bytes, 5, 1}, {"vector", example.Float, 1, 4},
	} {
		for i := range f.n {
			table = append(table, example.Feature{Name: fmt.Sprintf("%s_%d", f.name, i), Kind: f.kind, Shape: []int{f.shape}})
		}
	}
	return []parsedSet{{"examples", table}, {"sequences", example.Spec{
		{Name: "age", Kind: example.Float, Shape: []int{1}}, {Name: "country", Kind: example.Bytes, Shape: []int{1}},
		{Name: "items", Kind: example.Int64, Sequence: true}, {Name: "label", Kind: example.Int64, Shape: []int{1}},
		{Name: "prices", Kind: example.Float, Sequence: true}, {Name: "queries", Kind: example.Bytes, Sequence: true},
		{Name: "tags", Kind: example.Int64},
	}}}
}

// write makes a file of rows. Each has its features in an order of its own, as TFX's writer leaves
// them.
func (s parsedSet) write(path string, rows int) (err error) {
	w, err := tfrecord.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	random := rand.New(rand.NewPCG(1, 2))
	order := append(example.Spec(nil), s.spec...)
	for range rows {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		var row example.Builder
		for _, f := range order {
			addValues(&row, f, random)
		}
		if err := w.Append(row.Build()); err != nil {
			return err
		}
	}
	return nil
}

func addValues(row *example.Builder, f example.Feature, random *rand.Rand) {
	steps := 1
	if f.Sequence {
		steps = random.IntN(16)
	}
	values := f.Size()
	if f.VarLen() {
		values = 1 + random.IntN(2)
	}
	switch f.Kind {
	case example.Int64:
		all := drawn(steps, values, func() int64 { return random.Int64N(100_000) })
		if f.Sequence {
			row.Int64Steps(f.Name, all...)
		} else {
			row.Int64(f.Name, all[0]...)
		}
	case example.Float:
		all := drawn(steps, values, func() float32 { return float32(random.NormFloat64()) })
		if f.Sequence {
			row.FloatSteps(f.Name, all...)
		} else {
			row.Float(f.Name, all[0]...)
		}
	default:
		all := drawn(steps, values, func() []byte { return fmt.Appendf(nil, "token-%d", random.IntN(1000)) })
		if f.Sequence {
			row.BytesSteps(f.Name, all...)
		} else {
			row.Bytes(f.Name, all[0]...)
		}
	}
}

// drawn are so many steps of so many values.
func drawn[T any](steps, values int, draw func() T) [][]T {
	all := make([][]T, steps)
	for i := range all {
		for range values {
			all[i] = append(all[i], draw())
		}
	}
	return all
}
