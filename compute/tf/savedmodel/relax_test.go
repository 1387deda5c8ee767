package savedmodel

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/graph"
)

func TestRelaxedFeatures(t *testing.T) {
	t.Parallel()
	inputs := []nn.Input{{Name: "tips_xf", Kind: nn.Int64, Width: 1}} // 1 if tips > fare * 0.2
	tests := []struct {
		name    string
		model   Model
		feature string
		relaxed bool
	}{
		{"one the inputs depend on", Model{}, "fare", false},
		{"one the inputs don't depend on", Model{}, "trip_miles", true},
		{"a label", Model{Labels: []string{"tips"}}, "tips", true},
		{"one with a default", Model{Defaults: map[string]example.Default{"fare": {Float: 3}}}, "fare", true},
		{"a sparse one, which may be absent anyway", Model{Labels: []string{"company"}}, "company", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, err := readTransformGraph(filepath.Join("testdata", "taxi", "transform_graph"))
			if err != nil {
				t.Fatal(err)
			}
			tt.model.Graph = &nn.Graph{Inputs: inputs}
			g.relax(tt.model)
			for _, ft := range g.inputs {
				if ft.name == tt.feature && (ft.fallback != nil) != tt.relaxed {
					t.Errorf("%s may be left out: %v, want %v", ft.name, ft.fallback != nil, tt.relaxed)
				}
			}
		})
	}
}

func TestTransformGraphsFeaturesHaveTheirOwnNames(t *testing.T) {
	t.Parallel()
	g, err := readTransformGraph(filepath.Join("testdata", "taxi", "transform_graph"))
	if err != nil {
		t.Fatal(err)
	}
	sparse := 0
	for _, ft := range g.inputs {
		if ft.layout == graph.Sparse {
			sparse++
		}
	}
	if len(g.inputs) != 18 || sparse != 10 || len(g.outputs) != 17 || len(g.captures) != 20 {
		t.Errorf("%d features, %d of them sparse, %d outputs, %d captures; want 18, 10, 17, 20",
			len(g.inputs), sparse, len(g.outputs), len(g.captures))
	}
}
