package example_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// lists returns the feature_lists of a tf.SequenceExample with one list of integers.
func lists(name string, steps ...[]int64) []byte { return message(2, list(name, steps...)) }

func list(name string, steps ...[]int64) []byte {
	var features []byte
	for _, values := range steps {
		var packed []byte
		for _, v := range values {
			packed = protowire.AppendVarint(packed, uint64(v))
		}
		features = append(features, message(1, message(3, message(1, packed)))...)
	}
	return message(1, message(1, []byte(name)), message(2, features))
}

func TestSequencesHaveStepsAndValues(t *testing.T) {
	t.Parallel()
	spec := example.Spec{
		{Name: "id", Kind: example.Int64, Shape: []int{}},
		{Name: "pair", Kind: example.Int64, Shape: []int{2}, Sequence: true, AllowMissing: true},
		{Name: "words", Kind: example.Int64, Sequence: true},
	}
	id := func(n int64) []byte { return new(example.Builder).Int64("id", n).Build() }
	b, err := example.Parse(spec,
		slices.Concat(id(1), message(2, list("words", []int64{1, 2}, nil, []int64{3}), list("pair", []int64{10, 11}))),
		id(2),
		slices.Concat(lists("pair"), id(3), lists("words", []int64{4})),
		// The last counts.
		slices.Concat(id(4), lists("words", []int64{9}), lists("words", []int64{5}, []int64{6, 7})),
	)
	if err != nil {
		t.Fatal(err)
	}
	words, pair := b.Column("words"), b.Column("pair")
	equal(t, "ids", b.Column("id").Ints, []int64{1, 2, 3, 4})
	equal(t, "words", words.Ints, []int64{1, 2, 3, 4, 5, 6, 7})
	equal(t, "steps of words", words.Offsets, []int32{0, 3, 3, 4, 6})
	equal(t, "values of steps", words.Inner, []int32{0, 2, 2, 3, 4, 5, 7})
	equal(t, "pairs", pair.Ints, []int64{10, 11})
	equal(t, "steps of pair", pair.Offsets, []int32{0, 1, 1, 1, 1})
	if start, end := words.Row(3); start != 4 || end != 7 {
		t.Errorf("row 3 has values %d to %d", start, end)
	}
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestBadStepsAreNamed(t *testing.T) {
	t.Parallel()
	good := lists("a", []int64{1})
	wrong := message(2, message(1, message(1, []byte("a")), message(2, message(1, message(3)), message(1, message(2)))))
	unset := message(2, message(1, message(1, []byte("a")), message(2, message(1))))
	for name, c := range map[string]struct {
		feature example.Feature
		record  []byte
		want    string
	}{
		"wrong kind":      {example.Feature{}, wrong, `feature "a": step 1: data types don't match: data type is float, expected int64`},
		"values of steps": {example.Feature{Shape: []int{1}}, lists("a", []int64{1}, []int64{1, 2}), `feature "a": step 1: number of int64 values is 2, expected 1`},
		"no list":         {example.Feature{Shape: []int{1}}, nil, `feature "a": feature list is required but could not be found`},
		"kind not set":    {example.Feature{Shape: []int{1}}, unset, `feature "a": step 0: number of int64 values is 0, expected 1`},
	} {
		c.feature.Name, c.feature.Kind, c.feature.Sequence = "a", example.Int64, true
		_, err := example.Parse(example.Spec{c.feature}, good, c.record)
		if !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", name, err, c.want)
		}
	}
	shaped := example.Spec{{Name: "a", Kind: example.Int64, Shape: []int{1}, Sequence: true}}
	if b, err := example.Parse(shaped, message(2, message(1, message(1, []byte("a"))))); err != nil || fmt.Sprint(b.Columns[0].Offsets) != "[0 0]" {
		t.Errorf("a list that is there, and empty: %v, %v", b, err)
	}
	ragged := example.Spec{{Name: "a", Kind: example.Int64, Sequence: true}}
	if b, err := example.Parse(ragged, unset); err != nil || fmt.Sprint(b.Columns[0].Inner) != "[0 0]" {
		t.Errorf("a step with no kind set: %v, %v; want one step without values", b, err)
	}
}

func TestASequenceExampleIsReadAsAnExampleByItsContext(t *testing.T) {
	t.Parallel()
	spec := example.Spec{{Name: "id", Kind: example.Int64, Shape: []int{1}}}
	b, err := example.Parse(spec, slices.Concat(new(example.Builder).Int64("id", 1).Build(), lists("words", []int64{1, 2})))
	if err != nil || b.Rows != 1 {
		t.Errorf("%v, %v", b, err)
	}
}
