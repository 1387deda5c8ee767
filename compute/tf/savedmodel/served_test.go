package savedmodel

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// penguinModel is the model that TFX's Trainer wrote, with Keras 3.
var penguinModel = filepath.Join("testdata", "penguin", "model")

func openServed(t testing.TB, dir string) *Served {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// askExamples runs a signature that takes serialized examples.
func askExamples(t testing.TB, s *Served, signature string, examples ...[]byte) map[string]tensor.Tensor {
	t.Helper()
	texts := make([]string, len(examples))
	for i, e := range examples {
		texts[i] = string(e)
	}
	in, err := tensor.New([]int{len(texts)}, texts)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Run(signature, map[string]tensor.Tensor{"examples": in})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The 106 calls of the model that TFX wrote: what is element-wise bit for bit, products of matrices
// within 1e-6 of the answer, or of 1 where that is smaller: their terms are as large as that, and
// are added in another order.
func TestModelOfTFXIsAskedInGo(t *testing.T) {
	t.Parallel()
	s := openServed(t, penguinModel)
	golden := readGolden(t)
	if len(golden) != 106 {
		t.Fatalf("%d calls", len(golden))
	}
	for _, g := range golden {
		for name, want := range g.Features {
			got := floatsOf(t, askExamples(t, s, "transform_features", g.Example)[name])
			if !slices.EqualFunc(got, want[0], func(a float64, b tftest.Number) bool { return a == float64(b) || a != a && b != b }) {
				t.Errorf("%s: %s is %v, want %v", g.Tag, name, got, want[0])
			}
		}
		got := floatsOf(t, askExamples(t, s, "serving_default", g.Example)["outputs"])
		for i, w := range g.Serving.Outputs[0] {
			want := float64(w)
			if math.IsNaN(got[i]) != math.IsNaN(want) || math.Abs(got[i]-want) > 1e-6*math.Max(1, math.Abs(want)) {
				t.Errorf("%s: outputs are %v, want %v", g.Tag, got, g.Serving.Outputs[0])
			}
		}
	}
}

// floatsOf returns the numbers of a tensor.
func floatsOf(t testing.TB, from tensor.Tensor) []float64 {
	t.Helper()
	var list []float64
	if floats, ok := tensor.Values[float32](from); ok {
		for _, v := range floats {
			list = append(list, float64(v))
		}
		return list
	}
	if integers, ok := tensor.Values[int32](from); ok {
		for _, v := range integers {
			list = append(list, float64(v))
		}
		return list
	}
	integers, ok := tensor.Values[int64](from)
	if !ok {
		t.Fatalf("tensor %T", from)
	}
	for _, v := range integers {
		list = append(list, float64(v))
	}
	return list
}

func TestRowsTogetherAreAsRowsAlone(t *testing.T) {
	t.Parallel()
	s := openServed(t, penguinModel)
	var all [][]byte
	var alone []float64
	for _, g := range readGolden(t)[:100] {
		all = append(all, g.Example)
		alone = append(alone, floatsOf(t, askExamples(t, s, "serving_default", g.Example)["outputs"])...)
	}
	got := askExamples(t, s, "serving_default", all...)["outputs"]
	if !slices.Equal(floatsOf(t, got), alone) || !slices.Equal(got.Shape(), []int{100, 3}) {
		t.Errorf("rows together differ: shape %v", got.Shape())
	}
	if none := askExamples(t, s, "serving_default")["outputs"]; !slices.Equal(none.Shape(), []int{0, 3}) {
		t.Errorf("no rows give shape %v", none.Shape())
	}
}

func TestModelSaysWhatItCanBeAsked(t *testing.T) {
	t.Parallel()
	var got []string
	for _, s := range openServed(t, penguinModel).Signatures() {
		got = append(got, s.Name+" "+s.Method+" "+s.Inputs[0].Name+" "+s.Inputs[0].DType.String()+" "+s.Outputs[0].Name+" "+shapeText(s.Outputs[0].Shape))
	}
	want := []string{
		"serving_default tensorflow/serving/predict examples DT_STRING outputs [? 3]",
		"transform_features tensorflow/serving/predict examples DT_STRING body_mass_g_xf [? 1]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("signatures %q, want %q", got, want)
	}
}

func TestAWrongQuestionIsNamed(t *testing.T) {
	t.Parallel()
	s := openServed(t, penguinModel)
	one, _ := tensor.New([]int{1}, []string{"\x0a\x00"})
	number, _ := tensor.New([]int{1}, []int64{1})
	square, _ := tensor.New([]int{1, 1}, []string{""})
	for _, tt := range []struct {
		signature string
		inputs    map[string]tensor.Tensor
		want      string
	}{
		{"classify", nil, `no signature "classify": there are ["serving_default" "transform_features"]`},
		{"serving_default", nil, `input "examples" is missing`},
		{"serving_default", map[string]tensor.Tensor{"examples": number}, `input "examples" is DT_INT64, wants DT_STRING`},
		{"serving_default", map[string]tensor.Tensor{"examples": one, "more": one}, `input "more" is none of the signature's`},
		{"serving_default", map[string]tensor.Tensor{"examples": square}, `input "examples" has shape [1 1], wants [?]`},
		{"serving_default", map[string]tensor.Tensor{"examples": one}, `record 0: feature "body_mass_g"`},
	} {
		if _, err := s.Run(tt.signature, tt.inputs); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want one with %q", err, tt.want)
		}
	}
}
