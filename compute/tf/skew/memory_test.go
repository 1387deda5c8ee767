package skew_test

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/skew"
)

// remembered makes a question's ordered predictions a memory: rows in another order, known by their
// transformed features. head is its first line, change what is done to a row.
func remembered(t *testing.T, q *skew.Question, head string, change func(row map[string]map[string][]any)) {
	t.Helper()
	file, err := os.Open(q.Predictions)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	schema, err := example.ReadSchema(filepath.Join(penguinGraph, "transformed_metadata", "schema.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := schema.Spec()
	if err != nil {
		t.Fatal(err)
	}
	r, err := example.Open(example.Options{Patterns: split("transformed_examples"), Spec: spec, BatchSize: 1000, Epochs: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	scanner := bufio.NewScanner(file)
	for i := 0; scanner.Scan(); i++ {
		row := map[string]map[string][]any{"features": {}, "label": {"": {rows.Column("species_xf").Ints[i]}}, "outputs": {}}
		for _, name := range measures {
			row["features"][name] = []any{rows.Column(name).Floats[i]}
		}
		var said map[string][]any
		if err := json.Unmarshal(scanner.Bytes(), &said); err != nil {
			t.Fatal(err)
		}
		row["outputs"][""] = said["logits"]
		if change != nil {
			change(row)
		}
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	slices.Reverse(lines)
	q.Memory, q.Predictions, q.Labels, q.TransformGraph = filepath.Join(t.TempDir(), "memory.jsonl"), "", nil, penguinGraph
	if err := os.WriteFile(q.Memory, []byte(head+"\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

const headOfMemory = `{"labels": ["species_xf"], "weights": "same", "epoch": true}`

func TestAModelThatIsItsFilesIsWhatIsRemembered(t *testing.T) {
	t.Parallel()
	softmax := func(row map[string]map[string][]any) {
		var sum float64
		for _, x := range row["outputs"][""] {
			sum += math.Exp(x.(float64))
		}
		for i, x := range row["outputs"][""] {
			row["outputs"][""][i] = math.Exp(x.(float64)) / sum
		}
	}
	for name, tt := range map[string]struct {
		change func(map[string]map[string][]any)
		many   bool // files of raw and transformed rows
		note   string
	}{
		"rows known by their features":        {nil, false, ""},
		"rows of many files":                  {nil, true, ""},
		"probabilities in memory":             {softmax, false, `output "logits" is compared as softmax of the answers of the model's answer`},
		"rows known by their answers":         {func(row map[string]map[string][]any) { clear(row["features"]) }, false, ""},
		"features that the module has scaled": {func(row map[string]map[string][]any) { row["features"]["body_mass_g_xf"][0] = 7777.5 }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := net(t, measures...)
			q := trained{g, g, penguinGraph}.question(t)
			remembered(t, &q, headOfMemory, tt.change)
			if tt.many {
				q.Transformed = rewritten(t, q.Transformed, 3, func(i, n int) int { return n - 1 - i })
			}
			r := ask(t, q)
			if r.Rows != 100 || r.Asked < 95 || len(r.Differences) > 0 || r.NotCompared != "" || !strings.Contains(r.Note, tt.note) || tt.note == "" && r.Note != "" {
				t.Errorf("report %+v", r)
			}
		})
	}
}

func TestSabotageIsFoundByWhatIsRemembered(t *testing.T) {
	t.Parallel()
	weight := net(t, measures...)
	weight.Params[0].Values[3] += 1e-3
	for name, change := range map[string]func(map[string]map[string][]any){
		"rows known by their features": nil,
		"rows known by their answers":  func(row map[string]map[string][]any) { clear(row["features"]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := trained{net(t, measures...), weight, penguinGraph}.question(t)
			remembered(t, &q, headOfMemory, change)
			if r := ask(t, q); len(r.Differences) == 0 || !strings.Contains(r.Differences[0].String(), `output "logits"`) {
				t.Errorf("report %+v", r)
			}
		})
	}
	q := trained{net(t, measures...), weight, penguinGraph}.question(t)
	remembered(t, &q, strings.Replace(headOfMemory, "same", "other", 1), nil)
	if r := ask(t, q); len(r.Differences) > 0 || r.Asked == 0 || !strings.Contains(r.NotCompared, "other weights") {
		t.Errorf("of another model's weights: %+v", r)
	}
}

func TestWhatIsToBeKnownOfTheRowsIsNoted(t *testing.T) {
	t.Parallel()
	g := net(t, measures...)
	q := trained{g, g, penguinGraph}.question(t)
	remembered(t, &q, `{"labels": ["species_xf"], "weights": "written", "epoch": true, "remark": "of the model that was written"}`, nil)
	if r := ask(t, q); len(r.Differences) > 0 || r.Rows != 100 || r.NotCompared != "" || r.Note != "of the model that was written" {
		t.Errorf("report %+v", r)
	}
	weight := net(t, measures...)
	weight.Params[0].Values[3] += 1e-3
	q = trained{g, weight, penguinGraph}.question(t)
	remembered(t, &q, strings.Replace(headOfMemory, "same", "written", 1), nil)
	if r := ask(t, q); len(r.Differences) == 0 {
		t.Errorf("of the weights that were written: %+v", r)
	}
}

// rawMeasures returns the features that the transformed measures are made of.
func rawMeasures() (names []string) {
	for _, name := range measures {
		names = append(names, strings.TrimSuffix(name, "_xf"))
	}
	return names
}

// withoutGraph writes a model of raw features in the place of the question's.
func withoutGraph(t *testing.T, q *skew.Question, g *nn.Graph) {
	t.Helper()
	schema, err := example.ReadSchema("../../data/example/testdata/penguin/schema/schema.pbtxt")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := schema.Spec()
	if err != nil {
		t.Fatal(err)
	}
	for i := range spec {
		spec[i].Shape, spec[i].Default = []int{1}, nil
	}
	q.Model = filepath.Join(t.TempDir(), "model")
	if err := savedmodel.Write(q.Model, savedmodel.Model{Graph: g, Spec: spec}); err != nil {
		t.Fatal(err)
	}
}

func TestAModelWithoutItsTransformGraphIsFound(t *testing.T) {
	t.Parallel()
	g := net(t, measures...)
	q := trained{g, g, penguinGraph}.question(t)
	remembered(t, &q, headOfMemory, nil)
	withoutGraph(t, &q, net(t, rawMeasures()...)) // of the same weights
	if r := ask(t, q); len(r.Differences) == 0 {
		t.Errorf("report %+v", r)
	}
}

func TestAModelThatNeedsItsLabelIsRefused(t *testing.T) {
	t.Parallel()
	g := net(t, measures...)
	for name, head := range map[string]string{
		"called as its transformed feature": headOfMemory,
		"called as the raw feature":         `{"labels": ["species"]}`,
		"with nothing to compare":           `{"labels": ["species"], "note": "the module trained without Keras"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := trained{g, g, penguinGraph}.question(t)
			remembered(t, &q, head, nil)
			withoutGraph(t, &q, labelled(t))
			_, err := skew.Check(t.Context(), q)
			if err == nil || !strings.Contains(err.Error(), `has an error for rows without the label "species"`) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// labelled returns a net that takes the label, which must be there.
func labelled(t *testing.T) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(7))
	columns := []nn.Ref{b.Cast("label", b.Input("species", nn.Int64, 1))}
	for _, name := range rawMeasures() {
		columns = append(columns, b.Input(name, nn.Float32, 1))
	}
	b.Output("logits", b.Dense("logits", b.Concat("features", columns...), 3, ""))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func FuzzMemory(f *testing.F) {
	f.Add([]byte(headOfMemory + "\n" + `{"features": {"a": [1]}, "label": {"": ["x"]}, "outputs": {"": [0.5, "NaN"]}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		q := skew.Question{Model: penguinModel, Raw: split("examples"), Rows: 3, Tolerance: 1, Memory: filepath.Join(dir, "memory.jsonl")}
		if err := os.WriteFile(q.Memory, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = skew.Check(t.Context(), q) // whatever it finds, it doesn't panic
	})
}
