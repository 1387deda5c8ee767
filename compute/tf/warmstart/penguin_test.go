package warmstart

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
)

// penguin is the Model artifact that TFX's Trainer made, with Keras 3.
var penguin = filepath.Join("testdata", "penguin", "model")

func open(t *testing.T, path string) *Source {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// listed returns name and shape of each weight.
func listed(s *Source) []string {
	var list []string
	for _, t := range s.Tensors {
		list = append(list, fmt.Sprint(t.Name, t.Shape))
	}
	return list
}

func TestAModelOfKerasListsItsWeightsInOrder(t *testing.T) {
	t.Parallel()
	s := open(t, penguin)
	weights := []string{"dense_4/kernel[4 8]", "dense_4/bias[8]", "dense_5/kernel[8 3]", "dense_5/bias[3]"}
	if got := listed(s); !slices.Equal(got, weights) {
		t.Errorf("%q, want %q: without the optimizer's", got, weights)
	}
	want := Rows{"culmen_length_mm_xf", "culmen_depth_mm_xf", "flipper_length_mm_xf", "body_mass_g_xf"}
	if diff := cmp.Diff(want, s.Rows(s.Tensors[0])); diff != "" {
		t.Errorf("rows of the first kernel, as the module's code joins features: want - got +\n%s", diff)
	}
	if rows := s.Rows(s.Tensors[2]); rows != nil {
		t.Errorf("rows of the second kernel are hidden units, and mean nothing: %q", rows)
	}
}

// penguinGraph returns a network of ours for the same data, with features in the order of their
// names.
func penguinGraph(t *testing.T, hidden int) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(1))
	var columns []nn.Ref
	for _, name := range []string{"body_mass_g_xf", "culmen_depth_mm_xf", "culmen_length_mm_xf", "flipper_length_mm_xf"} {
		columns = append(columns, b.Input(name, nn.Float32, 1))
	}
	x := b.Dense("dense_1", b.Concat("features", columns...), hidden, nn.OpRelu)
	b.Output("logits", b.Dense("logits", x, 3, ""))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func start(t *testing.T, g *nn.Graph, from *Source, rules Rules) Table {
	t.Helper()
	table, err := Start(g.Params, GraphRows(g, nil), from, rules)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestRowsGoWhereTheirFeatureIs(t *testing.T) {
	t.Parallel()
	s, g := open(t, penguin), penguinGraph(t, 8)
	table := start(t, g, s, Rules{})
	theirs, _, err := s.Values(s.Tensors[0])
	if err != nil {
		t.Fatal(err)
	}
	ours := g.Params[0].Values
	for row, old := range []int{3, 1, 0, 2} {
		if !slices.Equal(ours[row*8:row*8+8], theirs[old*8:old*8+8]) {
			t.Errorf("row %d is not the old row %d", row, old)
		}
	}
	want := strings.TrimPrefix(`
param           shape  taken from      shape  how
dense_1/kernel  [4 8]  dense_4/kernel  [4 8]  by order; 4 rows by what they stand for
dense_1/bias    [8]    dense_4/bias    [8]    by order
logits/kernel   [8 3]  dense_5/kernel  [8 3]  by order
logits/bias     [3]    dense_5/bias    [3]    by order
`, "\n")
	if diff := cmp.Diff(want, table.String()); diff != "" {
		t.Errorf("table: want - got +\n%s", diff)
	}
}

func TestWhatDoesNotFitIsReportedAndLeft(t *testing.T) {
	t.Parallel()
	g := penguinGraph(t, 16)
	table := start(t, g, open(t, penguin), Rules{})
	want := strings.TrimPrefix(`
param           shape   taken from      shape  how
dense_1/kernel  [4 16]  dense_4/kernel  [4 8]  not taken: shape [4 8] against [4 16]
dense_1/bias    [16]    dense_4/bias    [8]    not taken: shape [8] against [16]
logits/kernel   [16 3]  dense_5/kernel  [8 3]  not taken: shape [8 3] against [16 3]
logits/bias     [3]     dense_5/bias    [3]    by order
-               -       dense_4/kernel  [4 8]  left
-               -       dense_4/bias    [8]    left
-               -       dense_5/kernel  [8 3]  left
`, "\n")
	if diff := cmp.Diff(want, table.String()); diff != "" {
		t.Errorf("table: want - got +\n%s", diff)
	}
}

func TestRulesChoose(t *testing.T) {
	t.Parallel()
	s := open(t, penguin)
	for name, c := range map[string]struct {
		rules Rules
		want  map[string]string // taken from, by param
	}{
		"only":   {Rules{Only: "^dense_1/"}, map[string]string{"dense_1/kernel": "dense_4/kernel", "dense_1/bias": "dense_4/bias"}},
		"except": {Rules{Except: "kernel$"}, map[string]string{"dense_1/bias": "dense_4/bias", "logits/bias": "dense_5/bias"}},
		"map": {Rules{Only: "logits", Map: map[string]string{"logits/bias": "_operations/6/bias/.ATTRIBUTES/VARIABLE_VALUE"}},
			map[string]string{"logits/bias": "dense_5/bias"}},
	} {
		got := map[string]string{}
		for _, line := range start(t, penguinGraph(t, 8), s, c.rules).Params {
			if line.Taken {
				got[line.Name] = line.Theirs
			}
		}
		// The layer's other one is matched by order: it is the first kernel that is left.
		if name == "map" {
			delete(got, "logits/kernel")
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: want - got +\n%s", name, diff)
		}
	}
}

func TestWhatCanNotBeFollowedIsAnError(t *testing.T) {
	t.Parallel()
	s := open(t, penguin)
	for text, rules := range map[string]Rules{
		"only: error parsing regexp":        {Only: "("},
		"the new model has no dense_9/bias": {Map: map[string]string{"dense_9/bias": "dense_4/bias"}},
		"the old model has no dense_9/bias": {Map: map[string]string{"dense_1/bias": "dense_9/bias"}},
		"shape [3] against [8]":             {Map: map[string]string{"dense_1/bias": "dense_5/bias"}},
		"except leaves it out":              {Except: "bias", Map: map[string]string{"dense_1/bias": "dense_4/bias"}},
		"no weight of the old model fits":   {Except: "."},
		"dense_1/kernel  [4 8]  -       ":   {Except: "."},
	} {
		g := penguinGraph(t, 8)
		before := slices.Clone(g.Params[1].Values)
		_, err := Start(g.Params, GraphRows(g, nil), s, rules)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want one that says %q", err, text)
		}
		if !slices.Equal(before, g.Params[1].Values) {
			t.Errorf("%s: params have changed", text)
		}
	}
}
