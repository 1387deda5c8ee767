package warmstart

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// shop is a model with every way in which a feature gets rows of its own.
type shop struct {
	seed    int64
	shops   []string // embedded
	kinds   []string // one-hot
	hours   int      // classes by number
	buckets int      // of hashes
	swapped bool     // features are in another order
}

var firstShop = shop{seed: 1, shops: []string{"anna", "bert", "carl"}, kinds: []string{"tea", "coffee"}, hours: 5, buckets: 4}

func (s shop) graph(t *testing.T) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(s.seed))
	hour := b.OneHot("hour/one_hot", b.Clamp("hour/clamp", b.Input("hour", nn.Int64, 1), s.hours), s.hours)
	price := b.DropNaN("price/fill", b.Normalize("price", b.Input("price", nn.Float32, 2), []float32{1, 2}, []float32{3, 4}))
	columns := []nn.Ref{
		b.Embedding("shop", b.Vocabulary("shop/vocabulary", b.Input("shop", nn.String, 1), s.shops), len(s.shops)+1, 3),
		b.OneHot("kind/one_hot", b.Vocabulary("kind/vocabulary", b.Input("kind", nn.String, 1), s.kinds), len(s.kinds)+1),
		hour,
		b.OneHot("user/one_hot", b.Hash("user/hash", b.Input("user", nn.String, 1), s.buckets), s.buckets),
		price,
	}
	if s.swapped {
		slices.Reverse(columns)
	}
	hidden := b.Dense("dense_1", b.Concat("features", columns...), 4, nn.OpRelu)
	b.Output("logits", b.Dense("logits", b.Concat("deep and wide", hidden, price), 2, ""))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (s shop) save(t *testing.T, g *nn.Graph) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	err := savedmodel.Write(dir, savedmodel.Model{Graph: g, Spec: example.Spec{
		{Name: "hour", Kind: example.Int64}, {Name: "kind", Kind: example.Bytes}, {Name: "price", Kind: example.Float, Shape: []int{2}},
		{Name: "shop", Kind: example.Bytes}, {Name: "user", Kind: example.Bytes},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// weights returns the rows of a param by what they stand for.
func weights(g *nn.Graph, param string) map[string][]float32 {
	at := slices.IndexFunc(g.Params, func(p nn.Param) bool { return p.Name == param })
	p, rows := g.Params[at], map[string][]float32{}
	width := len(p.Values) / p.Shape[0]
	for i, row := range GraphRows(g, nil)[param] {
		rows[row] = slices.Clone(p.Values[i*width : (i+1)*width])
	}
	return rows
}

func TestWhatRowsStandForIsTheSameInBothGraphs(t *testing.T) {
	t.Parallel()
	g := firstShop.graph(t)
	s := open(t, firstShop.save(t, g))
	ours := GraphRows(g, nil)
	for _, tensor := range s.Tensors {
		if diff := cmp.Diff(ours[tensor.Name], s.Rows(tensor)); diff != "" {
			t.Errorf("%s: ours - theirs +\n%s", tensor.Name, diff)
		}
	}
	want := map[string]Rows{
		"shop/embeddings": {`shop: "anna"`, `shop: "bert"`, `shop: "carl"`, "shop: bucket 0 for others"},
		"dense_1/kernel": {
			"shop, number 0", "shop, number 1", "shop, number 2", `kind: "tea"`, `kind: "coffee"`, "kind: bucket 0 for others",
			"hour: 0", "hour: 1", "hour: 2", "hour: 3", "hour: others",
			"user: bucket 0 of 4", "user: bucket 1 of 4", "user: bucket 2 of 4", "user: bucket 3 of 4", "price[0]", "price[1]",
		},
		"logits/kernel": {"unit 0 of 4", "unit 1 of 4", "unit 2 of 4", "unit 3 of 4", "price[0]", "price[1]"},
	}
	if diff := cmp.Diff(want, ours); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestRowsOfAVocabularyThatGrewMoveByToken(t *testing.T) {
	t.Parallel()
	old := firstShop.graph(t)
	s := open(t, firstShop.save(t, old))
	now := shop{seed: 2, shops: []string{"dora", "carl", "anna"}, kinds: []string{"milk", "tea", "coffee"}, hours: 7, buckets: 8, swapped: true}
	g := now.graph(t)
	initial := map[string]map[string][]float32{
		"shop/embeddings": weights(g, "shop/embeddings"), "dense_1/kernel": weights(g, "dense_1/kernel"),
	}
	table := start(t, g, s, Rules{})
	for param, before := range initial {
		from := weights(old, param)
		for row, got := range weights(g, param) {
			want, known := from[row]
			if !known {
				want = before[row]
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v (known before: %v)", param, row, got, want, known)
			}
		}
	}
	for _, text := range []string{
		`by name; 3 rows by what they stand for, 1 new (shop: "dora"), 1 left behind`,
		`by name; 13 rows by what they stand for, 11 new (user: bucket 0 of 8, ...), 4 left behind`,
		"price/mean       [2]     -                -       not taken: a constant of this run's data, no weight\n",
	} {
		if !strings.Contains(table.String(), text) {
			t.Errorf("the table does not say %q:\n%v", text, table)
		}
	}
}

func TestFeaturesThatAreAllOthersAreNotTaken(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(3))
	b.Output("logits", b.Dense("dense_1", b.Input("weight", nn.Float32, 17), 4, ""))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	table := start(t, g, open(t, firstShop.save(t, firstShop.graph(t))), Rules{})
	if table.Params[0].Taken || table.Params[0].Note != "no row stands for the same: shop, number 0 against weight[0]" {
		t.Errorf("table\n%v", table)
	}
}

//go:embed testdata/finetune.py
var finetuneScript string

// A model of ours goes through TensorFlow, some steps of it, and comes back: with TensorFlow's
// weights, and what their rows stand for.
func TestAModelThatTensorFlowTrainedFurtherComesBack(t *testing.T) {
	t.Parallel()
	g := firstShop.graph(t)
	dir, tuned := firstShop.save(t, g), filepath.Join(t.TempDir(), "tuned")
	var want map[string]any
	tftest.Run(t, finetuneScript, map[string]string{"model": dir, "into": tuned}, &want)
	s := open(t, tuned)
	again := firstShop.graph(t)
	table := start(t, again, s, Rules{})
	if table.Taken() != 5 || len(table.Left) != 0 {
		t.Errorf("table\n%v", table)
	}
	for i, p := range again.Params {
		if !slices.Equal(p.Values, flat(want[p.Name+":0"])) {
			t.Errorf("%s is %v, TensorFlow's is %v", p.Name, p.Values, want[p.Name+":0"])
		}
		if p.Trainable == slices.Equal(p.Values, g.Params[i].Values) {
			t.Errorf("%s, trainable %v: the test changes nothing", p.Name, p.Trainable)
		}
	}
	for _, tensor := range s.Tensors {
		if diff := cmp.Diff(GraphRows(g, nil)[tensor.Name], s.Rows(tensor)); diff != "" {
			t.Errorf("%s: ours - theirs +\n%s", tensor.Name, diff)
		}
	}
	if fmt.Sprint(listed(s)) != fmt.Sprint(listed(open(t, dir))) {
		t.Errorf("%q after %q", listed(s), listed(open(t, dir)))
	}
}

// A value made of two features is neither of them, in both graphs.
func TestAProductOfFeaturesIsNoneOfThem(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(1))
	b.Output("o", b.Dense("d", b.Add("sum", b.Input("x", nn.Float32, 2), b.Input("y", nn.Float32, 2)), 1, ""))
	g, err := b.Graph()
	dir := filepath.Join(t.TempDir(), "model")
	if err == nil {
		err = savedmodel.Write(dir, savedmodel.Model{Graph: g, Spec: example.Spec{
			{Name: "x", Kind: example.Float, Shape: []int{2}}, {Name: "y", Kind: example.Float, Shape: []int{2}},
		}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if rows := GraphRows(g, nil); len(rows) > 0 {
		t.Errorf("ours: %q", rows)
	}
	s := open(t, dir)
	for _, tensor := range s.Tensors {
		if rows := s.Rows(tensor); rows != nil {
			t.Errorf("theirs, %s: %q", tensor.Name, rows)
		}
	}
}

// A cross is distinguished from the features that it is made of, and from their cross in another
// order, in both graphs.
func TestRowsOfACrossAreBucketsOfItsFeaturesInTheirOrder(t *testing.T) {
	t.Parallel()
	b := nn.NewBuilder(nn.NewRand(1))
	user, hours := b.Input("user", nn.String, 1), b.Input("hours", nn.Int64, 2)
	cross := b.Cross("cross", 2, user, hours, user)
	b.Output("o", b.Dense("d", b.OneHot("crosses", cross, 2), 1, ""))
	g, err := b.Graph()
	dir := filepath.Join(t.TempDir(), "model")
	if err == nil {
		err = savedmodel.Write(dir, savedmodel.Model{Graph: g, Spec: example.Spec{
			{Name: "hours", Kind: example.Int64, Shape: []int{2}}, {Name: "user", Kind: example.Bytes},
		}})
	}
	if err != nil {
		t.Fatal(err)
	}
	want := Rows{
		"user x hours[0] x user: bucket 0 of 2", "user x hours[0] x user: bucket 1 of 2",
		"user x hours[1] x user: bucket 0 of 2", "user x hours[1] x user: bucket 1 of 2",
	}
	if diff := cmp.Diff(want, GraphRows(g, nil)["d/kernel"]); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	s := open(t, dir)
	at := slices.IndexFunc(s.Tensors, func(tensor Weight) bool { return tensor.Name == "d/kernel" })
	if diff := cmp.Diff(want, s.Rows(s.Tensors[at])); diff != "" {
		t.Errorf("in the file: want - got +\n%s", diff)
	}
}
