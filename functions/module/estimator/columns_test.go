package estimator

import (
	_ "embed"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/columns.py
var columnsScript string

// everyColumn has each kind of column, some in both parts.
func everyColumn() DNNLinearCombinedClassifier {
	numbers, age := Numeric{"number"}, Bucketized{Numeric{"age"}, []float32{10, 20, 65}}
	hour, areas := Identity{Key: "hour", NumBuckets: 24, Default: 3}, Identity{Key: "areas", NumBuckets: 5}
	company, payment := Hash{"company", 7}, Vocabulary{Key: "payment"}
	sparseFirst := Crossed{[]CrossKey{Feature("hour"), Feature("payment"), Feature("company")}, 11}
	buckets, places := Crossed{[]CrossKey{age, payment, hour}, 13}, Crossed{[]CrossKey{Feature("hour"), Feature("areas")}, 9}
	return DNNLinearCombinedClassifier{
		LinearFeatureColumns: []LinearColumn{numbers, age, hour, areas, company, payment, sparseFirst, buckets, places},
		DNNFeatureColumns: []DenseColumn{
			numbers, age, Indicator{hour}, Indicator{areas}, Indicator{payment}, Embedding{company, 3}, Embedding{areas, 2}, Indicator{buckets},
			Embedding{places, 2},
		},
		DNNHiddenUnits: []int{4}, NClasses: 2,
	}
}

var everyFeature = example.Spec{
	{Name: "age", Kind: example.Float, Shape: []int{}},
	{Name: "areas", Kind: example.Int64, Shape: []int{2}},
	{Name: "company", Kind: example.Bytes},
	{Name: "hour", Kind: example.Int64, Shape: []int{1}},
	{Name: "number", Kind: example.Float, Shape: []int{2}},
	{Name: "payment", Kind: example.Bytes, Shape: []int{1}, Vocabulary: []string{"Cash", "Card"}},
	{Name: "tips", Kind: example.Int64, Shape: []int{1}},
}

// rowsOfAll have edge cases: values on a boundary, outside of the buckets, unknown words.
var rowsOfAll = map[string]any{
	"age": [][]float32{{9.99}, {10}, {64.9}, {65}}, "areas": [][]int64{{0, 4}, {4, 4}, {9, -1}, {2, 3}},
	"company": [][]string{{"Taxi"}, {""}, {"Ümit"}, {"Taxi Two"}}, "hour": [][]int64{{0}, {23}, {24}, {-7}},
	"number": [][]float32{{1, -2}, {0, 3}, {1e6, 0.5}, {-1, -1}}, "payment": [][]string{{"Card"}, {"Cash"}, {"cash"}, {""}},
}

func inputsOfAll() map[string]nn.Value {
	in := map[string]nn.Value{}
	for name, rows := range rowsOfAll {
		switch rows := rows.(type) {
		case [][]float32:
			in[name] = nn.Floats(len(rows[0]), slices.Concat(rows...)...)
		case [][]int64:
			in[name] = nn.Ints(len(rows[0]), slices.Concat(rows...)...)
		case [][]string:
			in[name] = nn.Strings(len(rows[0]), slices.Concat(rows...)...)
		}
	}
	return in
}

// TensorFlow's own feature columns give the same numbers in the same order, with variables of the
// same names.
func TestColumnsAreTensorFlows(t *testing.T) {
	t.Parallel()
	e := everyColumn()
	c := newColumns(nn.NewBuilder(nn.NewRand(3)), everyFeature)
	if _, err := (plan{deep: e.DNNFeatureColumns, hiddenUnits: e.DNNHiddenUnits, head: head{classes: 2}}).narrow(c); err != nil {
		t.Fatal(err)
	}
	if _, err := linear(c, e.LinearFeatureColumns, 2); err != nil {
		t.Fatal(err)
	}
	g, err := c.Graph()
	if err != nil {
		t.Fatal(err)
	}
	start := map[string]weights{}
	var names []string
	for i, w := range g.Params {
		if !w.Trainable || strings.HasPrefix(w.Name, "dnn/hiddenlayer") || strings.HasPrefix(w.Name, "dnn/logits") {
			continue
		}
		for j := range w.Values {
			w.Values[j] = float32((i*7+j*3)%11) / 8 // not 0, and no two rows alike
		}
		start[w.Name] = weights{w.Shape, w.Values}
		names = append(names, w.Name)
	}
	slices.Sort(names)
	var want struct {
		Names         []string
		Dense, Logits []float32
	}
	tftest.Run(t, columnsScript, map[string]any{"rows": rowsOfAll, "weights": start}, &want)
	if diff := cmp.Diff(want.Names, names); diff != "" {
		t.Errorf("variables: TensorFlow - ours +\n%s", diff)
	}
	v, err := nn.NewEvaluator(g, g.NodeNames()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Run(inputsOfAll()); err != nil {
		t.Fatal(err)
	}
	// All weights are eighths, and sums of their products with the numbers are exact.
	near(t, "input of the deep part", v.Value(inputScope+"concat").Floats, want.Dense, 0)
	near(t, "logits of the wide part", v.Value(linearScope+"logits").Floats, want.Logits, 0)
}

func TestACrossSaysWhatItDoesNotTake(t *testing.T) {
	t.Parallel()
	for want, column := range map[string]Crossed{
		`column "hour": 1 keys and 5 buckets, expected 2 or more keys and a bucket`: {[]CrossKey{Feature("hour")}, 5},
		`column "hour_X_payment": 2 keys and 0 buckets`:                             {[]CrossKey{Feature("payment"), Feature("hour")}, 0},
		`feature "number" is float, expected [string int64]`:                        {[]CrossKey{Feature("hour"), Feature("number")}, 5},
		`column "number_bucketized" has 2 numbers in a row, and a cross takes one`:  {[]CrossKey{Feature("hour"), Bucketized{Numeric{"number"}, []float32{1}}}, 5},
		`a row may lack some of its values, and has several of others`:              {[]CrossKey{Feature("company"), Feature("areas")}, 5},
		`the data has no feature "minute"`:                                          {[]CrossKey{Feature("hour"), Feature("minute")}, 5},
	} {
		_, err := column.weigh(newColumns(nn.NewBuilder(nn.NewRand(3)), everyFeature), 1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}
