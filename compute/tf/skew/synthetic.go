package skew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// Limits of the synthetic rows.
const (
	plausibleRows = 16 // rows whose transformed features are within the range of the real ones
	// Limit for the raw features of a schema for which plausible values are searched.
	maxSyntheticSpec    = 200
	maxSyntheticValues  = 100_000 // values of one row
	maxVocabularyWords  = 40      // words that are tried of each vocabulary
	maxVocabularyBytes  = 1 << 20
	refinements         = 4 // number of passes of the search for plausible values
	maxSyntheticOutputs = 2000
)

// synthetic makes raw rows from a schema if a run has no raw examples. Their values are valid for
// the schema; only of plausible rows is it known that the data could contain them.
type synthetic struct {
	spec  example.Spec
	words []string    // of the transform graph's vocabularies
	graph transformer // nil: it can't be executed here
	why   error       // of that
	real  []row       // transformed rows of the run
}

// newSynthetic reads the raw schema of a TransformGraph artifact. If neither Go nor the interpreter
// python can execute the graph, it is not used, and no row is known to be plausible. The result
// must be closed.
func newSynthetic(ctx context.Context, dir, python string, real []row) (*synthetic, error) {
	if dir == "" {
		return nil, errors.New("there is no transform graph whose raw schema would say what requests hold")
	}
	schema, err := example.ReadSchema(filepath.Join(dir, "metadata", "schema.pbtxt"))
	if err != nil {
		return nil, fmt.Errorf("raw schema of the transform graph: %w", err)
	}
	spec, err := schema.Spec()
	if err != nil {
		return nil, fmt.Errorf("raw schema of the transform graph: %w", err)
	}
	size := 0
	for _, f := range spec {
		size += max(1, f.Size())
	}
	if len(spec) == 0 || size > maxSyntheticValues {
		return nil, fmt.Errorf("raw schema of the transform graph: a row has %d values, expected 1 to %d", size, maxSyntheticValues)
	}
	s := &synthetic{spec: spec, words: vocabularies(dir), real: real}
	s.graph, s.why = openTransformer(ctx, dir, python, s.variants())
	return s, ctx.Err()
}

func (s *synthetic) close() {
	if s.graph != nil {
		s.graph.close()
	}
}

// vocabularies returns the first words of each vocabulary file of a transform graph.
func vocabularies(dir string) (words []string) {
	files, err := filepath.Glob(filepath.Join(dir, "transform_fn", "assets", "*"))
	if err != nil {
		return nil
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxVocabularyBytes {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil || !utf8.Valid(text) {
			continue
		}
		lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
		words = append(words, lines[:min(len(lines), maxVocabularyWords)]...)
	}
	return words
}

// candidates returns values that a feature may have: those of its domain, and numbers of all
// magnitudes or usual texts.
func (s *synthetic) candidates(f example.Feature) (list []values) {
	switch f.Kind {
	case example.Bytes:
		texts := slices.Clone(f.Vocabulary[:min(len(f.Vocabulary), maxVocabularyWords)])
		if len(texts) == 0 {
			texts = append([]string{"a", "", "1", "0.5", "2020-01-01", "2020-01-01 00:00:00", "true"}, s.words...)
		}
		for _, text := range texts {
			list = append(list, values{texts: []string{text}})
		}
		return list
	case example.Int64:
		for _, x := range magnitudes(0, 9) {
			list = append(list, values{ints: []int64{int64(x)}})
		}
		if r := f.IntRange; r != nil {
			list = slices.DeleteFunc(list, func(v values) bool { return v.ints[0] < r.Min || v.ints[0] > r.Max })
			for _, x := range []int64{r.Min, r.Max, r.Min/2 + r.Max/2} {
				if x != math.MinInt64 && x != math.MaxInt64 {
					list = append(list, values{ints: []int64{x}})
				}
			}
		}
		return list
	default:
		for _, x := range magnitudes(-3, 9) {
			list = append(list, values{floats: []float64{x}})
		}
		return list
	}
}

// magnitudes returns 0 and 1, 2 and 5 times each power of ten, of both signs.
func magnitudes(least, most int) []float64 {
	list := []float64{0}
	for exponent := least; exponent <= most; exponent++ {
		for _, x := range []float64{1, 2, 5} {
			x *= math.Pow10(exponent)
			list = append(list, x, -x)
		}
	}
	return list
}

// row makes a row in which every value of a feature is the chosen one.
func (s *synthetic) row(chosen []values) row {
	r := row{features: map[string]*examplepb.Feature{}, lists: map[string]*examplepb.FeatureList{}}
	for i, f := range s.spec {
		value := repeated(chosen[i], max(1, f.Size()))
		if f.Sequence {
			r.lists[f.Name] = &examplepb.FeatureList{Feature: []*examplepb.Feature{value, value}}
		} else {
			r.features[f.Name] = value
		}
	}
	return r
}

func repeated(v values, times int) *examplepb.Feature {
	switch {
	case v.texts != nil:
		list := make([][]byte, times)
		for i := range list {
			list[i] = []byte(v.texts[0])
		}
		return &examplepb.Feature{Kind: &examplepb.Feature_BytesList{BytesList: &examplepb.BytesList{Value: list}}}
	case v.ints != nil:
		return &examplepb.Feature{Kind: &examplepb.Feature_Int64List{Int64List: &examplepb.Int64List{Value: slices.Repeat(v.ints[:1], times)}}}
	}
	return &examplepb.Feature{Kind: &examplepb.Feature_FloatList{FloatList: &examplepb.FloatList{Value: slices.Repeat([]float32{float32(v.floats[0])}, times)}}}
}

// variants returns rows of several kinds: with each feature's first value, with its last one, and
// with values at random.
func (s *synthetic) variants() []row {
	return append([]row{
		s.row(s.choose(func(int) int { return 0 })), s.row(s.choose(func(n int) int { return n - 1 })), s.row(s.choose(func(n int) int { return min(1, n-1) })),
	}, s.diverse(3)...)
}

func (s *synthetic) choose(at func(n int) int) (chosen []values) {
	for _, f := range s.spec {
		list := s.candidates(f)
		if len(list) == 0 { // a domain without the numbers that are tried
			list = []values{{ints: []int64{0}}}
		}
		chosen = append(chosen, list[at(len(list))])
	}
	return chosen
}

// diverse returns rows whose features have any of their candidates, at random, but the same ones
// each time.
func (s *synthetic) diverse(n int) (rows []row) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		rows = append(rows, s.row(s.choose(random.IntN)))
	}
	return rows
}

// plausible returns rows whose transformed features are like those of the run's transformed rows:
// numbers within their range, and strings that are among theirs. It returns none if no candidates
// are known for that.
//
// It changes one feature at a time, and keeps the value by which the transformed features come
// nearest.
func (s *synthetic) plausible(ctx context.Context) []row {
	if s.graph == nil || len(s.real) == 0 || len(s.spec) > maxSyntheticSpec {
		return nil
	}
	limits := s.limits()
	if len(limits) == 0 || len(limits) > maxSyntheticOutputs {
		return nil
	}
	chosen := s.choose(func(int) int { return 0 })
	best := s.distances(ctx, limits, [][]values{chosen})[0]
	for pass := range 1 + refinements {
		for i, f := range s.spec {
			list := s.candidates(f)
			if pass > 0 {
				list = near(f, chosen[i])
			}
			var tried [][]values
			for _, v := range list {
				other := slices.Clone(chosen)
				other[i] = v
				tried = append(tried, other)
			}
			for j, distance := range s.distances(ctx, limits, tried) {
				if distance < best {
					best, chosen = distance, tried[j]
				}
			}
		}
		if best == 0 || ctx.Err() != nil {
			break
		}
	}
	if best > 0 {
		return nil
	}
	return s.others(ctx, limits, chosen)
}

// others returns a plausible row with more rows, of other values that are plausible too.
func (s *synthetic) others(ctx context.Context, limits map[string]limit, chosen []values) []row {
	right := make([][]values, len(s.spec))
	for i, f := range s.spec {
		var tried [][]values
		list := append(near(f, chosen[i]), s.candidates(f)...)
		for _, v := range list {
			other := slices.Clone(chosen)
			other[i] = v
			tried = append(tried, other)
		}
		var suit []values
		for j, distance := range s.distances(ctx, limits, tried) {
			if distance == 0 {
				suit = append(suit, list[j])
			}
		}
		right[i] = append([]values{chosen[i]}, spread(f, suit)...)
	}
	combined := [][]values{chosen}
	for n := 1; n < 2*plausibleRows; n++ {
		other := slices.Clone(chosen)
		for i := range other {
			other[i] = right[i][(n*(i+1))%len(right[i])]
		}
		combined = append(combined, other)
	}
	var rows []row
	for i, distance := range s.distances(ctx, limits, combined) {
		if distance == 0 && len(rows) < plausibleRows {
			rows = append(rows, s.row(combined[i]))
		}
	}
	return rows
}

// spread returns some of a feature's values, with numbers as far apart as possible: a model that is
// right for similar rows may be wrong for others.
func spread(f example.Feature, list []values) (some []values) {
	if f.Kind != example.Bytes {
		slices.SortFunc(list, func(a, b values) int { return cmp.Compare(a.number(0), b.number(0)) })
	}
	for i := range min(len(list), plausibleRows) {
		some = append(some, list[i*len(list)/min(len(list), plausibleRows)])
	}
	return some
}

// near returns numbers around the chosen one.
func near(f example.Feature, chosen values) (list []values) {
	if f.Kind == example.Bytes {
		return nil
	}
	x := chosen.number(0)
	for _, part := range []float64{0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8} {
		for _, y := range []float64{x * (1 - part), x * (1 + part)} {
			if f.Kind == example.Int64 {
				y = math.Round(y)
				if r := f.IntRange; math.Abs(y) > 1<<62 || r != nil && (int64(y) < r.Min || int64(y) > r.Max) {
					continue
				}
				list = append(list, values{ints: []int64{int64(y)}})
			} else {
				list = append(list, values{floats: []float64{y}})
			}
		}
	}
	return list
}

// limit is the range of one feature in the run's transformed rows.
type limit struct {
	least, most float64
	texts       map[string]bool
}

func newLimit() limit { return limit{math.Inf(1), math.Inf(-1), map[string]bool{}} }

// with returns the limit of one more row.
func (l limit) with(v values) limit {
	for _, text := range v.texts {
		l.texts[text] = true
	}
	for i := range v.len() - len(v.texts) {
		l.least, l.most = min(l.least, v.number(i)), max(l.most, v.number(i))
	}
	return l
}

// limits returns those of the features that Transform wrote.
func (s *synthetic) limits() map[string]limit {
	all := map[string]limit{}
	names := rawNames(s.real)
	if g, ok := s.graph.(goGraph); ok {
		names = g.Spec().Names()
	}
	for _, name := range names {
		l := newLimit()
		for _, r := range s.real {
			l = l.with(r.values(name))
		}
		if len(l.texts) > 0 || l.least <= l.most {
			all[name] = l
		}
	}
	return all
}

// distance returns how far a feature is outside the range of the real rows: 0 if it is within.
func (l limit) distance(v values) float64 {
	sum := 0.0
	for _, text := range v.texts {
		if !l.texts[text] {
			sum++
		}
	}
	for i := range v.len() - len(v.texts) {
		x := v.number(i)
		if !isFinite(x) {
			return math.MaxFloat32
		}
		width := max(l.most-l.least, 1e-6*(1+math.Abs(l.most)))
		sum += max(0, x-l.most, l.least-x) / width
	}
	return sum
}

// distances transforms rows and returns how far each is outside the range of the real ones:
// infinity for a row for which the graph has an error.
func (s *synthetic) distances(ctx context.Context, limits map[string]limit, chosen [][]values) []float64 {
	rows := make([]row, len(chosen))
	for i, c := range chosen {
		rows[i] = s.row(c)
	}
	list := make([]float64, len(rows))
	made, err := s.graph.transform(ctx, rows)
	if err != nil { // perhaps of one row
		made = nil
		for _, r := range rows {
			one, err := s.graph.transform(ctx, []row{r})
			if err != nil {
				one = []map[string]values{nil}
			}
			made = append(made, one...)
		}
	}
	for i, features := range made {
		if features == nil {
			list[i] = math.Inf(1)
			continue
		}
		for name, l := range limits {
			list[i] += l.distance(features[name])
		}
	}
	return list
}
