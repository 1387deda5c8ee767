package skew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// Synthesis is a request for raw rows of a run that has none.
type Synthesis struct {
	TransformGraph string `json:"transform_graph"` // directory of the TransformGraph artifact
	// Patterns of files of rows that the graph has transformed.
	Transformed []string `json:"transformed"`
	// An interpreter that has TensorFlow, for a graph that Go can't execute; "" for none.
	Python string `json:"python"`
}

// Synthetic has raw rows that Synthesize made, and the output of the transform graph for each. The
// trained model in memory is called with the features, and the model in its files with the rows:
// see Question.Synthetic and memory.
type Synthetic struct {
	Rows [][]byte `json:"rows"` // serialized tf.Examples or tf.SequenceExamples, with their labels
	// For each row an object of lists by feature, with values as in a file of predictions.
	Features []json.RawMessage `json:"features"`
	Note     string            `json:"note"` // why there are no rows
}

const (
	syntheticTime  = 20 * time.Second
	syntheticBytes = 16 << 20 // of all rows and features
)

// Synthesize makes raw rows whose transformed features are like those of the run's transformed
// rows. A graph or a schema that doesn't allow it is no error: the note explains it.
func Synthesize(ctx context.Context, q Synthesis) (Synthetic, error) {
	made, err := synthesize(ctx, q)
	if ctx.Err() != nil {
		return Synthetic{}, ctx.Err()
	}
	if err != nil {
		return Synthetic{Note: err.Error()}, nil
	}
	return made, nil
}

func synthesize(ctx context.Context, q Synthesis) (made Synthetic, err error) {
	real, err := readRows(q.Transformed, DefaultRows)
	if err != nil {
		return made, fmt.Errorf("transformed rows: %w", err)
	}
	s, err := newSynthetic(ctx, q.TransformGraph, q.Python, real)
	if err != nil {
		return made, err
	}
	defer s.close()
	if s.graph == nil {
		return made, fmt.Errorf("the transform graph can't be executed: %w", s.why)
	}
	most := syntheticTime
	if _, slow := s.graph.(*tensorflowGraph); slow {
		most = pythonTime // which takes seconds to start
	}
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	rows := s.plausible(limited)
	if rows = s.steady(limited, rows); len(rows) == 0 {
		return made, errors.New("no raw rows of the transform graph's schema were found whose transformed features are like the real ones")
	}
	features, err := s.graph.transform(limited, rows)
	if err != nil {
		return made, fmt.Errorf("transform graph: %w", err)
	}
	size := 0
	for i, r := range rows {
		text, err := r.request(nil)
		if err != nil {
			return made, err
		}
		line, err := json.Marshal(elementsOf(features[i]))
		if err != nil {
			return made, err
		}
		if size += len(text) + len(line); size > syntheticBytes {
			return Synthetic{}, fmt.Errorf("synthetic rows have more than %d bytes", syntheticBytes)
		}
		made.Rows, made.Features = append(made.Rows, []byte(text)), append(made.Features, line)
	}
	return made, nil
}

// steady returns the rows for which the graph computes the same strings and integers if all their
// numbers are a little larger or smaller, so that rounding does not decide on which side of a
// boundary a number is.
func (s *synthetic) steady(ctx context.Context, rows []row) (kept []row) {
	if len(rows) == 0 {
		return nil
	}
	usual, err := s.graph.transform(ctx, rows)
	if err != nil {
		return nil
	}
	same := make([]bool, len(rows))
	for i := range same {
		same[i] = true
	}
	for _, factor := range []float32{1 - 1e-5, 1 + 1e-5} {
		moved := make([]row, len(rows))
		for i, r := range rows {
			moved[i] = r.scaled(factor)
		}
		got, err := s.graph.transform(ctx, moved)
		if err != nil {
			return nil
		}
		for i := range got {
			for name, v := range got[i] {
				same[i] = same[i] && slices.Equal(v.ints, usual[i][name].ints) && slices.Equal(v.texts, usual[i][name].texts)
			}
		}
	}
	for i, r := range rows {
		if same[i] {
			kept = append(kept, r)
		}
	}
	return kept
}

// scaled returns the row with all its floats multiplied.
func (r row) scaled(factor float32) row {
	to := row{features: map[string]*examplepb.Feature{}, lists: map[string]*examplepb.FeatureList{}}
	change := func(f *examplepb.Feature) *examplepb.Feature {
		if f.GetFloatList() == nil {
			return f
		}
		f = proto.CloneOf(f)
		for i := range f.GetFloatList().GetValue() {
			f.GetFloatList().Value[i] *= factor
		}
		return f
	}
	for name, f := range r.features {
		to.features[name] = change(f)
	}
	for name, list := range r.lists {
		steps := &examplepb.FeatureList{}
		for _, f := range list.GetFeature() {
			steps.Feature = append(steps.Feature, change(f))
		}
		to.lists[name] = steps
	}
	return to
}

// elementsOf returns values in the JSON form of a file of predictions.
func elementsOf(features map[string]values) map[string][]any {
	all := map[string][]any{}
	for name, v := range features {
		list := []any{}
		for _, text := range v.texts {
			if utf8.ValidString(text) {
				list = append(list, text)
			} else {
				list = append(list, map[string][]byte{"b64": []byte(text)})
			}
		}
		for _, x := range v.ints {
			list = append(list, x)
		}
		for _, x := range v.floats {
			list = append(list, elementOf(x))
		}
		all[name] = list
	}
	return all
}

func elementOf(x float64) any {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	return json.Number(strconv.FormatFloat(x, 'g', -1, 64))
}

// parseRows reads rows as Synthesize made them.
func parseRows(texts [][]byte) (rows []row, err error) {
	for i, text := range texts {
		var e examplepb.SequenceExample
		if err := proto.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("synthetic row %d: %w", i, err)
		}
		rows = append(rows, row{features: e.GetContext().GetFeature(), lists: e.GetFeatureLists().GetFeatureList()})
	}
	return rows, nil
}

const (
	// Rows that suffice to determine that the model is given transformed features as they are.
	minUnaltered = 10
	// Least number of rows that are compared: with fewer, a wrong answer may equal a right one by
	// chance.
	minSynthetic = 5
)

// planSynthetic plans calls with the synthetic rows that the model in memory answered too. The
// error is the reason why none are compared.
//
// The model in memory was given the output of the graph for a row. The module would have given it
// the same only if it gives it transformed features as they are. The rows that the module gave it
// show that, for features within the range of these rows.
func (c *check) planSynthetic(asking syntheticRows, attempts []attempt) error {
	m := c.data.memory
	if m == nil || len(m.synthetic) == 0 {
		const unasked = "the model in memory was not asked for them"
		if m == nil || m.SyntheticNote == "" {
			return errors.New(unasked)
		}
		return fmt.Errorf("%s: %s", unasked, m.SyntheticNote)
	}
	limits, n := m.unaltered(c.data.searched())
	if n < min(minUnaltered, len(m.rows)) {
		return errors.New("the module gives its model other features than the transformed ones")
	}
	var rows []row
	var matches []match
	for i, r := range asking.rows[:asking.plausible] {
		own, ok := m.synthetic[i]
		if !ok || attempts[i].without != nil || attempts[i].with != nil || !isWithin(limits, own.features) {
			continue
		}
		matches = append(matches, match{own, []int{len(rows)}})
		rows = append(rows, r)
	}
	if len(rows) < minSynthetic {
		return fmt.Errorf("%d of them have features among the real ones and answers of both sides, fewer than %d", len(rows), minSynthetic)
	}
	ways := [][]string{asking.labels}
	if len(asking.labels) > 0 {
		ways = append(ways, nil)
	}
	for _, without := range ways {
		calls, err := callsOf(asking.serving, rows, without)
		if err != nil {
			return err
		}
		c.questions = append(c.questions, question{asking.serving, calls, len(rows), without, recall{memory: m, matches: matches}.compare})
	}
	c.outputs, c.synthetic = "", true
	return nil
}

// unaltered returns the limits of each feature in those rows of the memory whose features are all
// equal to those of one transformed row, and the number of these rows.
func (m *memory) unaltered(transformed []row) (limits map[string]limit, n int) {
	limits = map[string]limit{}
	for _, r := range m.rows {
		for name := range r.features {
			limits[name] = newLimit()
		}
	}
	names := slices.Sorted(maps.Keys(limits))
	if len(names) == 0 {
		return nil, 0
	}
	there := map[string]bool{}
	for _, r := range transformed {
		there[keyOf(names, r.values)] = true
	}
	for _, r := range m.rows {
		if !there[keyOf(names, func(name string) values { return r.features[name] })] {
			continue
		}
		n++
		for _, name := range names {
			limits[name] = limits[name].with(r.features[name])
		}
	}
	return limits, n
}

// isWithin reports whether features have no values beyond the limits.
func isWithin(limits map[string]limit, features map[string]values) bool {
	for name, l := range limits {
		if l.distance(features[name]) != 0 {
			return false
		}
	}
	return true
}
