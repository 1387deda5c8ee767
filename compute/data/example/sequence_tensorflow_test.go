package example_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// sequenceScript parses with tf.io.parse_sequence_example, each feature in the requested layout.
// Answers are rows: for a plain feature its values, for a list its steps; for a dense list the
// steps that its lengths give, for a sparse tensor those that its indices give, which don't include
// empty steps at the end of a row.
const sequenceScript = `
TYPES = {"string": tf.string, "float": tf.float32, "int64": tf.int64}

def feature(f):
    dtype = TYPES[f["type"]]
    if f["layout"] == "sparse":
        return tf.io.VarLenFeature(dtype)
    if f["layout"] == "ragged":
        return tf.io.RaggedFeature(dtype, row_splits_dtype=tf.int64)
    if f["sequence"]:
        return tf.io.FixedLenSequenceFeature(f["shape"], dtype, allow_missing=f["missing"])
    return tf.io.FixedLenFeature(f["shape"], dtype, f["default"])

def text(a):
    a = np.asarray(a)
    if a.dtype == object:
        return [b.hex() for b in a.reshape(-1).tolist()]
    return [str(x) for x in (a.view(np.uint32) if a.dtype == np.float32 else a).reshape(-1).tolist()]

def from_sparse(t, rows, sequence):
    out = [[] for _ in range(rows)]
    for index, value in zip(t.indices.numpy().tolist(), text(t.values.numpy())):
        row = out[index[0]]
        if sequence:
            row.extend([] for _ in range(index[1] + 1 - len(row)))
            row = row[index[1]]
        assert len(row) == index[-1]
        row.append(value)
    return out

def from_ragged(t, sequence):
    values, levels = text(t.flat_values.numpy()), [s.numpy().tolist() for s in t.nested_row_splits]
    for splits in reversed(levels):
        values = [values[a:b] for a, b in zip(splits, splits[1:])]
    return values

def column(f, t, lengths, rows):
    if f["layout"] == "sparse":
        return from_sparse(t, rows, f["sequence"])
    if f["layout"] == "ragged":
        return from_ragged(t, f["sequence"])
    if f["sequence"]:
        return [[text(step) for step in row[:n]] for row, n in zip(t.numpy(), lengths[f["name"]].numpy().tolist())]
    return [text(row) for row in t.numpy()]

def answer(request):
    records = [b64(r) for r in request["records"]]
    context = {f["name"]: feature(f) for f in request["spec"] if not f["sequence"]}
    lists = {f["name"]: feature(f) for f in request["spec"] if f["sequence"]}
    try:
        c, s, lengths = tf.io.parse_sequence_example(records, context, lists)
    except (tf.errors.InvalidArgumentError, tf.errors.DataLossError) as e:
        return {"error": str(e)}
    return {"columns": [column(f, (s if f["sequence"] else c)[f["name"]], lengths, len(records)) for f in request["spec"]]}

def check(requests):
    return [answer(r) for r in requests]
`

// layouts are those in which TensorFlow can read the same as one Feature.
var layouts = map[bool][]string{true: {"sparse", "ragged"}, false: {"dense"}}

type sequenceFeature struct {
	tfFeature
	Layout  string `json:"layout"`
	Missing bool   `json:"missing"`
}

type sequenceRequest struct {
	name    string
	ours    example.Spec
	Spec    []sequenceFeature `json:"spec"`
	Records [][]byte          `json:"records"`
}

func newSequenceRequest(name string, spec example.Spec, random *rand.Rand, records ...[]byte) sequenceRequest {
	r := sequenceRequest{name: name, ours: spec, Records: records}
	for _, f := range newRequest("", spec, records...).Spec {
		of := spec[len(r.Spec)]
		choice := layouts[of.VarLen()]
		r.Spec = append(r.Spec, sequenceFeature{f, choice[random.IntN(len(choice))], of.AllowMissing})
	}
	return r
}

// cells returns the rows of a column as the script does.
func cells(c *example.Column, rows int, sparse bool) (out []any) {
	for r := range rows {
		if !c.Feature.Sequence {
			out = append(out, textOf(c, int(c.Offsets[r]), int(c.Offsets[r+1])))
			continue
		}
		steps := []any{}
		for s := c.Offsets[r]; s < c.Offsets[r+1]; s++ {
			steps = append(steps, textOf(c, int(c.Inner[s]), int(c.Inner[s+1])))
		}
		for sparse && len(steps) > 0 && len(steps[len(steps)-1].([]string)) == 0 {
			steps = steps[:len(steps)-1]
		}
		out = append(out, steps)
	}
	return out
}

func textOf(c *example.Column, start, end int) []string {
	text := []string{}
	for i := start; i < end; i++ {
		if c.Feature.Kind == example.Bytes {
			text = append(text, fmt.Sprintf("%x", c.Bytes(i)))
		} else {
			text = append(text, strings.Trim(valuesOf(c, i, i+1).(string), "[]"))
		}
	}
	return text
}

func compareSequences(t *testing.T, requests []sequenceRequest) {
	t.Helper()
	var answers []struct {
		Error   string
		Columns []any
	}
	tftest.Run(t, sequenceScript, requests, &answers)
	refused := 0
	for i, r := range requests {
		b, err := example.Parse(r.ours, r.Records...)
		if (err != nil) != (answers[i].Error != "") {
			t.Errorf("%s: error %v, TensorFlow's %q, for %q", r.name, err, answers[i].Error, r.Records)
			continue
		}
		if err != nil {
			refused++
			continue
		}
		for j, f := range r.Spec {
			got := cells(&b.Columns[j], b.Rows, f.Layout == "sparse")
			equal(t, fmt.Sprint(r.name, ": ", f.Name, " as ", f.Layout), fmt.Sprint(got), fmt.Sprint(answers[i].Columns[j]))
		}
	}
	t.Logf("%d of %d requests refused by both", refused, len(requests))
}

func TestSequencesOfAllLayoutsAreThoseOfTensorFlow(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 9))
	var requests []sequenceRequest
	good, bad := sequenceGen{random, false}, sequenceGen{random, true}
	for i := range 10 {
		var records [][]byte
		for range 50 {
			records = append(records, good.record())
		}
		requests = append(requests, newSequenceRequest(fmt.Sprint("batch ", i), sequenceSpec(), random, records...))
	}
	for i := range 400 {
		requests = append(requests, newSequenceRequest(fmt.Sprint("record ", i), sequenceSpec(), random, bad.record()))
	}
	compareSequences(t, requests)
}

// Each fault is tried by itself, and in each layout, so that no answer hides another.
func TestEdgesOfStepsAreThoseOfTensorFlow(t *testing.T) {
	t.Parallel()
	step := func(values ...[]byte) []byte { return message(1, values...) }
	listA := func(steps ...[]byte) []byte {
		return message(2, message(1, message(1, []byte("a")), message(2, steps...)))
	}
	ints := func(values ...byte) []byte { return message(3, message(1, values)) }
	records := map[string][]byte{
		"no list":                 {},
		"list without steps":      listA(),
		"one step":                listA(step(ints(5))),
		"step with no kind":       listA(step()),
		"no kind, then a value":   listA(step(), step(ints(5))),
		"step with an empty list": listA(step(message(3))),
		"empty step in between":   listA(step(ints(5)), step(message(3)), step(ints(6))),
		"step of two":             listA(step(ints(5, 6))),
		"step of another kind":    listA(step(message(2, message(1, fixed32s(1))))),
		"another kind, empty":     listA(step(message(1))),
		"right kind, then not":    listA(step(ints(5)), step(message(1, message(1, []byte("x"))))),
		"list twice":              slices.Concat(listA(step(ints(5))), listA(step(ints(6)), step(ints(7)))),
		"twice in one field":      message(2, listA(step(ints(5)))[2:], listA(step(ints(6)))[2:]),
		"before the context":      slices.Concat(listA(step(ints(5))), new(example.Builder).Float("b", 1).Build()),
		"context of that name":    new(example.Builder).Float("a", 1).Build(),
	}
	var requests []sequenceRequest
	random := rand.New(rand.NewPCG(1, 1))
	features := map[string]example.Feature{
		"VarLen": {}, "scalar": {Shape: []int{}}, "shape [1]": {Shape: []int{1}}, "may be missing": {Shape: []int{1}, AllowMissing: true},
	}
	for _, name := range slices.Sorted(maps.Keys(records)) {
		record := records[name]
		for _, what := range slices.Sorted(maps.Keys(features)) {
			f := features[what]
			f.Name, f.Kind, f.Sequence = "a", example.Int64, true
			r := newSequenceRequest(name+", "+what, example.Spec{f}, random, record)
			for _, layout := range layouts[f.VarLen()] {
				r.Spec = slices.Clone(r.Spec)
				r.Spec[0].Layout = layout
				requests = append(requests, r)
			}
		}
	}
	compareSequences(t, requests)
}
