package drift_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stoker-ml/stoker/compute/tf/drift"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// message returns a field that holds a message or a text.
func message(number protowire.Number, parts ...string) string {
	all := strings.Join(parts, "")
	return string(protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), []byte(all)))
}

func double(number protowire.Number, v float64) string {
	return string(protowire.AppendFixed64(protowire.AppendTag(nil, number, protowire.Fixed64Type), math.Float64bits(v)))
}

func integer(number protowire.Number, v uint64) string {
	return string(protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), v))
}

func dataSet(features ...string) string {
	all := []string{integer(2, 100)}
	for _, f := range features {
		all = append(all, message(3, f))
	}
	return message(1, all...)
}

func common(present, missing uint64) string {
	return message(1, integer(1, present), integer(2, missing))
}

// numbers returns a feature with a histogram of buckets {low, high, count}.
func numbers(name string, missing uint64, buckets ...[3]float64) string {
	var all []string
	for _, b := range buckets {
		all = append(all, message(3, double(1, b[0]), double(2, b[1]), double(4, b[2])))
	}
	quantiles := message(8, message(3, double(1, 0), double(2, 1e9), double(4, 5)), integer(4, 1))
	return message(1, name) + message(3, common(100-missing, missing), quantiles, message(8, all...))
}

// words returns a feature with counts[i] values w<i>.
func words(name string, counts ...float64) string {
	var all []string
	for i, n := range counts {
		all = append(all, message(1, message(4, fmt.Sprint("w", i)), double(5, n)))
	}
	return message(1, name) + message(4, common(100, 0), message(5, all...))
}

func parse(t *testing.T, data string) drift.Statistics {
	t.Helper()
	s, err := drift.ParseStatistics([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDistancesOfDistributions(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	half := [][3]float64{{0, 1, 50}, {1, 2, 50}}
	for name, c := range map[string]struct {
		a, b    string
		want    float64
		measure string
	}{
		"equal":                     {numbers("x", 0, half...), numbers("x", 0, half...), 0, ""},
		"equal shares":              {numbers("x", 0, half...), numbers("x", 0, [3]float64{0, 1, 5}, [3]float64{1, 2, 5}), 0, ""},
		"equal, cut otherwise":      {numbers("x", 0, half...), numbers("x", 0, [3]float64{0, 2, 10}), 0, ""},
		"apart":                     {numbers("x", 0, [3]float64{0, 1, 7}), numbers("x", 0, [3]float64{1, 2, 7}), 1, "Jensen-Shannon"},
		"half apart":                {numbers("x", 0, [3]float64{0, 1, 1}), numbers("x", 0, half...), 0.3112781244591328, "Jensen-Shannon"},
		"constant, equal":           {numbers("x", 0, [3]float64{3, 3, 9}), numbers("x", 0, [3]float64{3, 3, 4}), 0, ""},
		"constant, another":         {numbers("x", 0, [3]float64{3, 3, 9}), numbers("x", 0, [3]float64{4, 4, 9}), 1, "Jensen-Shannon"},
		"constant and spread":       {numbers("x", 0, [3]float64{1, 1, 9}), numbers("x", 0, half...), 1, "Jensen-Shannon"},
		"infinite":                  {numbers("x", 0, [3]float64{0, inf, 9}), numbers("x", 0, [3]float64{-inf, 0, 9}), 1, "Jensen-Shannon"},
		"as wide as numbers are":    {numbers("x", 0, [3]float64{-math.MaxFloat64, math.MaxFloat64, 9}), numbers("x", 0, [3]float64{-math.MaxFloat64, 0, 9}), 0.3112781244591328, "Jensen-Shannon"},
		"no values any more":        {numbers("x", 0, half...), numbers("x", 0), 1, "Jensen-Shannon"},
		"more missing":              {numbers("x", 10, half...), numbers("x", 40, half...), 0.3, "examples without it"},
		"words, equal shares":       {words("w", 1, 3), words("w", 10, 30), 0, ""},
		"words, other shares":       {words("w", 1, 3), words("w", 2, 2), 0.25, "L-infinity"},
		"words, a new one":          {words("w", 4), words("w", 4, 1), 0.2, "L-infinity"},
		"a feature that came":       {numbers("x", 0, half...), words("w", 1), 1, "presence"},
		"half are no numbers":       {numbers("x", 0, half...), nanFeature(100, half...), 0.3112781244591328, "Jensen-Shannon"},
		"text that is no feature's": {message(1, "x"), message(1, "x"), 0, ""},
	} {
		a, b := parse(t, dataSet(c.a)), parse(t, dataSet(c.b))
		for _, got := range []drift.Distance{a.Farthest(b), b.Farthest(a)} {
			if math.Abs(got.Value-c.want) > 1e-12 || !strings.Contains(got.Measure, c.measure) {
				t.Errorf("%s: %v, want %s of %g", name, got, c.measure, c.want)
			}
		}
	}
	both := parse(t, dataSet(words("w", 1, 3), numbers("x", 0, half...))).Farthest(parse(t, dataSet(words("w", 3, 1), numbers("x", 5, half...))))
	if both.Feature != "w" || both.Value != 0.5 || both.String() != `feature "w": L-infinity distance is 0.5` {
		t.Errorf("the farthest of two: %v", both)
	}
	if none := parse(t, dataSet()).Farthest(parse(t, dataSet())); none != (drift.Distance{}) {
		t.Errorf("without features: %v", none)
	}
}

func nanFeature(nan uint64, buckets ...[3]float64) string {
	var all []string
	for _, b := range buckets {
		all = append(all, message(3, double(1, b[0]), double(2, b[1]), double(4, b[2])))
	}
	return message(1, "x") + message(3, common(100, 0), message(8, append(all, integer(1, nan))...))
}

// Random histograms, compared with NumPy.
func TestTheDivergenceIsNumPys(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var pairs [][2][]float64
	for range 20 {
		var pair [2][]float64
		for side := range pair {
			for range 8 {
				pair[side] = append(pair[side], float64(random.IntN(9))) // some are empty
			}
			pair[side][0]++
		}
		pairs = append(pairs, pair)
	}
	var want []float64
	tftest.Run(t, `
def check(pairs):
    out = []
    for p, q in pairs:
        p, q = np.array(p) / sum(p), np.array(q) / sum(q)
        m = (p + q) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            out.append(float(np.nansum(p * np.log2(p / m)) + np.nansum(q * np.log2(q / m))) / 2)
    return out
`, pairs, &want)
	for i, pair := range pairs {
		var sides [2]drift.Statistics
		for side, counts := range pair {
			var buckets [][3]float64
			for at, n := range counts {
				buckets = append(buckets, [3]float64{float64(at), float64(at + 1), n})
			}
			sides[side] = parse(t, dataSet(numbers("x", 0, buckets...)))
		}
		if got := sides[0].Farthest(sides[1]).Value; math.Abs(got-want[i]) > 1e-12 {
			t.Errorf("pair %d: %g, NumPy has %g", i, got, want[i])
		}
	}
}

func TestStatisticsOfTFXAreCompared(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "data", "example", "testdata", "statistics")
	train, err := drift.ReadStatistics(filepath.Join(folder, "Split-train", "FeatureStats.pb"))
	if err != nil {
		t.Fatal(err)
	}
	if got := train.Farthest(train); got != (drift.Distance{}) {
		t.Errorf("the same: %v", got)
	}
	eval, err := drift.ReadStatistics(filepath.Join(folder, "Split-eval", "FeatureStats.pb"))
	if err != nil {
		t.Fatal(err)
	}
	if got := train.Farthest(eval); got.Value <= 0 || got.Value > 1 {
		t.Errorf("two splits: %v", got)
	}
}

func TestBadStatisticsAreRefused(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 10_001 {
		many = append(many, message(1, message(4, fmt.Sprint(i)), double(5, 1)))
	}
	for want, data := range map[string]string{
		"no data set":        "",
		"unexpected EOF":     "\x0a\x05\x12",
		"bucket from":        dataSet(numbers("x", 0, [3]float64{2, 1, 5})),
		"with -1 values":     dataSet(numbers("x", 0, [3]float64{1, 2, -1})),
		"with NaN values":    dataSet(numbers("x", 0, [3]float64{1, 2, math.NaN()})),
		"is there NaN times": dataSet(words("w", math.NaN())),
		"more than 10000":    dataSet(message(1, "w") + message(4, message(5, many...))),
	} {
		if _, err := drift.ParseStatistics([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "FeatureStats.pb")
	if _, err := drift.ReadStatistics(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestShapesOfArtifacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	schema, none := filepath.Join(dir, "schema"), filepath.Join(dir, "none")
	if err := os.MkdirAll(schema, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(schema, "schema.pbtxt"), []byte(`feature { name: "a" type: INT }`), 0o600); err != nil {
		t.Fatal(err)
	}
	graph := filepath.Join("..", "savedmodel", "testdata", "penguin", "transform_graph")
	both, err := drift.ReadShape(schema, graph)
	if err != nil || len(both.Schema) != 64 || len(both.TransformGraph) != 64 {
		t.Fatalf("%+v, %v", both, err)
	}
	for what, c := range map[string]struct{ schema, graph, want string }{
		"the same":  {schema, graph, ""},
		"no schema": {none, graph, "schema"},
		"no graph":  {schema, none, "transform graph"},
	} {
		got, err := drift.ReadShape(c.schema, c.graph)
		if differs := both.Differs(got); err != nil || (differs == "") != (c.want == "") || !strings.Contains(differs, c.want) {
			t.Errorf("%s: %q, %v", what, differs, err)
		}
	}
	if _, err := drift.ReadShape(none, schema); err == nil || !strings.Contains(err.Error(), "transform graph") {
		t.Errorf("a folder without a graph: %v", err)
	}
}

func FuzzStatistics(f *testing.F) {
	f.Add([]byte(dataSet(words("w", 1, 2), numbers("x", 3, [3]float64{0, 1, 2}, [3]float64{1, 1, 4}))))
	f.Add([]byte(dataSet(nanFeature(3, [3]float64{math.Inf(-1), 1, 2}))))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := drift.ParseStatistics(data)
		if err != nil {
			return
		}
		other, err := drift.ParseStatistics([]byte(dataSet(words("w", 3, 1), numbers("x", 0, [3]float64{-1, 2, 5}))))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []drift.Distance{s.Farthest(other), other.Farthest(s)} {
			if !(d.Value >= 0 && d.Value <= 1) {
				t.Errorf("distance %v", d)
			}
		}
		if d := s.Farthest(s); !(d.Value < 1e-9) {
			t.Errorf("from itself: %v", d)
		}
	})
}
