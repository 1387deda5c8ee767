package savedmodel

import (
	_ "embed"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dgryski/go-farm"
	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/graft.py
var graftScript string

// grafted is what graft.py returns.
type grafted struct {
	Served, Features, Session, Again, Layer outputs
	SessionFeatures                         outputs `json:"session_features"`
	Empty                                   [][]int
	Variables                               int
	Assets                                  []string
}

func serveGrafted(t *testing.T, dir string, examples [][]byte) grafted {
	t.Helper()
	var got grafted
	tftest.Run(t, predictScript+graftScript, map[string]any{"model": dir, "examples": examples}, &got)
	return got
}

// corpus is what TFX made of a data set: the same records before and after Transform.
type corpus struct {
	graph            string
	label            string // raw
	raw, transformed [][]byte
	spec             example.Spec // of the transformed records
}

func readCorpus(t *testing.T, name, label string, rows int) corpus {
	t.Helper()
	folder := filepath.Join("..", "..", "data", "example", "testdata", name)
	schema, err := example.ReadSchema(filepath.Join(folder, "transformed_metadata", "schema.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	spec, err := schema.Spec()
	if err != nil {
		t.Fatal(err)
	}
	return corpus{
		graph: filepath.Join("testdata", name, "transform_graph"), label: label, spec: spec,
		raw:         readRecords(t, filepath.Join(folder, "examples", "Split-eval", "data_tfrecord-00000-of-00001.gz"), rows),
		transformed: readRecords(t, filepath.Join(folder, "transformed_examples", "Split-eval", "transformed_examples-00000-of-00001.gz"), rows),
	}
}

func readRecords(t *testing.T, name string, limit int) [][]byte {
	t.Helper()
	r, err := tfrecord.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var list [][]byte
	for len(list) < limit {
		data, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, slices.Clone(data))
	}
	return list
}

// model returns a small net over all transformed features but the label: numbers as they are,
// integers as one-hot.
func (c corpus) model() Model {
	rng := rand.New(rand.NewPCG(5, 6))
	g := &nn.Graph{Outputs: []nn.Output{{Name: "outputs", Node: "logits", Width: 3}}}
	join := nn.Node{Name: "joined", Op: nn.OpConcat}
	width := 0
	for _, f := range c.spec.Without(c.label + "_xf") {
		in := nn.Input{Name: f.Name, Kind: nn.Float32, Width: 1}
		if f.Kind == example.Int64 {
			in.Kind = nn.Int64
			depth := nn.Attr{Depth: 12}
			g.Nodes = append(g.Nodes,
				nn.Node{Name: f.Name + "/id", Op: nn.OpClamp, In: []string{f.Name}, Attr: depth},
				nn.Node{Name: f.Name + "/hot", Op: nn.OpOneHot, In: []string{f.Name + "/id"}, Attr: depth})
			join.In = append(join.In, f.Name+"/hot")
			width += 12
		} else {
			join.In = append(join.In, f.Name)
			width++
		}
		g.Inputs = append(g.Inputs, in)
	}
	kernel := nn.Param{Name: "Variable", // the taxi graph has one of this name too
		Shape: []int{width, 3}, Trainable: true}
	for range width * 3 {
		kernel.Values = append(kernel.Values, float32(rng.NormFloat64()))
	}
	g.Nodes = append(g.Nodes, join, nn.Node{Name: "logits", Op: nn.OpMatMul, In: []string{"joined", "Variable"}})
	g.Params = []nn.Param{kernel}
	return Model{Graph: g, TransformGraph: c.graph}
}

// columns returns the transformed records as inputs of the graph.
func (c corpus) columns(t *testing.T) map[string]nn.Value {
	t.Helper()
	batch, err := example.Parse(c.spec, c.transformed...)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]nn.Value{}
	for _, column := range batch.Columns {
		if column.Feature.Kind == example.Int64 {
			values[column.Feature.Name] = nn.Ints(1, column.Ints...)
		} else {
			values[column.Feature.Name] = nn.Floats(1, column.Floats...)
		}
	}
	return values
}

// equalBits fails unless got is want to the last bit; it shows the first difference of each
// feature.
func equalBits(t *testing.T, what string, got outputs, want map[string]nn.Value) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d features, want %d", what, len(got), len(want))
	}
	for name, v := range want {
		if len(got[name]) != len(v.Floats)+len(v.Ints) {
			t.Errorf("%s: %s has %d values, want %d", what, name, len(got[name]), len(v.Floats)+len(v.Ints))
			continue
		}
		for i, w := range v.Floats {
			if math.Float32bits(float32(got[name][i])) != math.Float32bits(w) {
				t.Errorf("%s: %s of row %d is %v, want %v", what, name, i, got[name][i], w)
				break
			}
		}
		for i, w := range v.Ints {
			if int64(got[name][i]) != w {
				t.Errorf("%s: %s of row %d is %v, want %v", what, name, i, got[name][i], w)
				break
			}
		}
	}
}

func TestGraftedGraphTransformsAsTransformDid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, label string
		assets      []string
	}{
		{"penguin", "species", nil},
		{"taxi", "tips", []string{"vocab_compute_and_apply_vocabulary_1_vocabulary", "vocab_compute_and_apply_vocabulary_vocabulary"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := readCorpus(t, tt.name, tt.label, 500)
			m := c.model()
			got := serveGrafted(t, writeTemp(t, m), c.raw)
			columns := c.columns(t)
			equalBits(t, "transform_features", got.Features, columns)
			// A session divides by multiplying.
			near(t, "transform_features in a session", got.SessionFeatures, flat(columns))
			want := evaluated(t, m.Graph, columns)
			near(t, "serving_default", got.Served, want)
			near(t, "session", got.Session, want)
			near(t, "loaded, saved, loaded", got.Again, want)
			near(t, "TFSMLayer", got.Layer, want)
			if got.Variables != 1 {
				t.Errorf("%d variables, want the model's one", got.Variables)
			}
			if !slices.Equal(got.Assets, tt.assets) {
				t.Errorf("saved again, the model has assets %v, want %v", got.Assets, tt.assets)
			}
			if !slices.Equal(got.Empty[0], []int{0, 3}) {
				t.Errorf("an empty batch gives %v", got.Empty)
			}
		})
	}
}

// edit decodes records, changes them and encodes them again.
func edit(t *testing.T, records [][]byte, change func(map[string]*examplepb.Feature)) [][]byte {
	t.Helper()
	var edited [][]byte
	for _, data := range records {
		var e examplepb.Example
		if err := proto.Unmarshal(data, &e); err != nil {
			t.Fatal(err)
		}
		change(e.GetFeatures().GetFeature())
		edited = append(edited, serialized(t, []*examplepb.Example{&e})...)
	}
	return edited
}

func TestRequestsMayLeaveOutWhatTheModelDoesNotNeed(t *testing.T) {
	t.Parallel()
	for name, label := range map[string]string{"penguin": "species", "taxi": "tips"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := readCorpus(t, name, label, 50)
			m := c.model()
			got := serveGrafted(t, writeTemp(t, m), edit(t, c.raw, func(f map[string]*examplepb.Feature) { delete(f, label) }))
			near(t, "without the label", got.Served, evaluated(t, m.Graph, c.columns(t)))
		})
	}
}

func TestRequestsMustHoldWhatTheModelNeeds(t *testing.T) {
	t.Parallel()
	c := readCorpus(t, "taxi", "tips", 1)
	dir := writeTemp(t, c.model())
	raw := edit(t, c.raw, func(f map[string]*examplepb.Feature) { delete(f, "fare") })
	text := tftest.Fail(t, predictScript+graftScript, map[string]any{"model": dir, "examples": raw})
	wantError(t, errors.New(text), "Feature: fare (data type: float) is required but could not be found")
}

func TestUnknownTokensAndMissingValuesAreServed(t *testing.T) {
	t.Parallel()
	c := readCorpus(t, "taxi", "tips", 100)
	m := c.model()
	row := -1
	raw := edit(t, c.raw, func(f map[string]*examplepb.Feature) {
		row++
		switch row % 3 {
		case 0:
			f["company"], f["payment_type"] = bytesOf("No Such Cab"), bytesOf("Beads")
		case 1:
			for name := range f {
				if slices.Contains([]string{"company", "trip_seconds", "pickup_latitude", "dropoff_census_tract"}, name) {
					delete(f, name)
				}
			}
		}
	})
	got := serveGrafted(t, writeTemp(t, m), raw)
	features := map[string]nn.Value{}
	for _, in := range m.Graph.Inputs {
		v := nn.Value{Kind: in.Kind, Width: 1}
		for _, x := range got.Features[in.Name] {
			if in.Kind == nn.Int64 {
				v.Ints = append(v.Ints, int64(x))
			} else {
				v.Floats = append(v.Floats, float32(x))
			}
		}
		features[in.Name] = v
	}
	near(t, "serving_default over transform_features", got.Served, evaluated(t, m.Graph, features))

	// The transform graph puts unknown tokens into 10 buckets behind its vocabulary, of 45
	// companies; missing ones are "".
	const companies, buckets = 45, 10
	for i, token := range []string{"No Such Cab", ""} {
		want := companies + int64(farm.Fingerprint64([]byte(token))%buckets)
		if id := features["company_xf"].Ints[i]; id != want {
			t.Errorf("company %q is %d, want %d", token, id, want)
		}
	}
}
