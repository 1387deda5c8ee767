package reproduce

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
	"github.com/stoker-ml/stoker/events"
)

// saved returns a bundle of float32 variables.
func saved(t *testing.T, variables map[string][]float32) *tensorbundle.Bundle {
	t.Helper()
	var all []tensorbundle.Entry
	for name, values := range variables {
		all = append(all, tensorbundle.Entry{Key: name, Value: &tensor.Array[float32]{Dims: []int{len(values)}, Data: values}})
	}
	slices.SortFunc(all, func(a, b tensorbundle.Entry) int { return map[bool]int{true: -1, false: 1}[a.Key < b.Key] })
	prefix := filepath.Join(t.TempDir(), "variables")
	if err := tensorbundle.Write(prefix, all); err != nil {
		t.Fatal(err)
	}
	b, err := tensorbundle.Open(prefix)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWeightsAreComparedNumberByNumber(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	then := saved(t, map[string][]float32{"a": {1, 2, nan}, "b": {0.5}})
	same, err := compareWeights(then, saved(t, map[string][]float32{"a": {1, 2, nan}, "b": {0.5}}))
	if err != nil || same.Largest != 0 || same.Compared != 4 || len(same.Unlike) != 0 {
		t.Errorf("the same: %+v, %v", same, err)
	}
	other, err := compareWeights(then, saved(t, map[string][]float32{"a": {1, 2.25, nan}, "b": {0.375}}))
	if err != nil || other.Largest != 0.25 || other.Where != "a" {
		t.Errorf("a quarter apart: %+v, %v", other, err)
	}
	broken, err := compareWeights(then, saved(t, map[string][]float32{"a": {1, nan, nan}, "b": {0.5}}))
	if err != nil || !math.IsInf(broken.Largest, 1) {
		t.Errorf("a number against none: %+v, %v", broken, err)
	}
	unlike, err := compareWeights(then, saved(t, map[string][]float32{"a": {1, 2}, "c": {0.5}}))
	if err != nil || len(unlike.Unlike) != 3 {
		t.Errorf("another shape, one gone and one new: %+v, %v", unlike, err)
	}
}

func TestAVerdictNeedsWeightsAndMetrics(t *testing.T) {
	t.Parallel()
	metrics := func(loss float64) map[string]float64 { return map[string]float64{"loss": loss} }
	for name, tc := range map[string]struct {
		weights     *Weights
		then, again map[string]float64
		tolerance   float64
		want        Verdict
	}{
		"equal to the last bit":             {&Weights{}, metrics(1), metrics(1), 0, EqualWeights},
		"weights apart":                     {&Weights{Largest: 1e-6}, metrics(1), metrics(1), 0, Different},
		"weights apart, within what is let": {&Weights{Largest: 1e-6}, metrics(1), metrics(1), 1e-6, Within},
		"metrics apart":                     {&Weights{}, metrics(1), metrics(1.5), 0.1, Different},
		"a metric that one has alone":       {&Weights{}, metrics(1), nil, 10, Different},
		"both are no number":                {&Weights{}, metrics(math.NaN()), metrics(math.NaN()), 0, EqualWeights},
		"one is no number":                  {&Weights{}, metrics(1), metrics(math.NaN()), 10, Different},
		"no weights":                        {nil, metrics(1), metrics(1), 10, Different},
		"a variable more":                   {&Weights{Unlike: []string{"x"}}, metrics(1), metrics(1), 10, Different},
	} {
		if got := (Report{Weights: tc.weights, Metrics: compareMetrics(tc.then, tc.again)}).verdict(tc.tolerance); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestModelsOfEqualDigestsAreTheSameAndOtherInputsAreSaid(t *testing.T) {
	t.Parallel()
	then := &events.ModelTrained{Model: events.Model{Digest: "d"}, Module: "m1", Inputs: []events.Artifact{{Type: "Schema", Digest: "s1", URI: "s3://b/s"}}}
	again := &events.ModelTrained{Model: events.Model{Digest: "d"}, Module: "m2", Inputs: []events.Artifact{{Type: "Schema", Digest: "s2", URI: "s3://b/s"}}}
	r, err := Compare(t.Context(), nil, then, again, Options{})
	if err != nil || !r.Same || r.How != EqualFiles || len(r.Inputs) != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}
