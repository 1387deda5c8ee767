package example_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"testing"

	expb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// The oracle: the messages that protoc made, read by proto.Unmarshal, and converted to rows in the
// slow and obvious way.

// oracle returns the row of a record: for each feature of the spec its values, or for a Sequence
// the values of its steps.
func oracle(spec example.Spec, bytes []byte) ([]any, error) {
	var m expb.SequenceExample // an Example is one with only a context
	if err := proto.Unmarshal(bytes, &m); err != nil {
		return nil, err
	}
	var row []any
	for _, f := range spec {
		cell, err := oracleCell(f, &m)
		if err != nil {
			return nil, err
		}
		row = append(row, cell)
	}
	return row, nil
}

func oracleCell(f example.Feature, m *expb.SequenceExample) (any, error) {
	if !f.Sequence {
		return oracleValues(f, m.GetContext().GetFeature()[f.Name])
	}
	steps := []any{}
	for _, step := range m.GetFeatureLists().GetFeatureList()[f.Name].GetFeature() {
		values, err := oracleValues(f, step)
		if err != nil {
			return nil, err
		}
		steps = append(steps, values)
	}
	return steps, nil
}

var errOracle = errors.New("the oracle refuses it")

func oracleValues(f example.Feature, p *expb.Feature) (any, error) {
	var kind example.Kind
	switch p.GetKind().(type) {
	case *expb.Feature_BytesList:
		kind = example.Bytes
	case *expb.Feature_FloatList:
		kind = example.Float
	case *expb.Feature_Int64List:
		kind = example.Int64
	}
	n := max(len(p.GetBytesList().GetValue()), len(p.GetFloatList().GetValue()), len(p.GetInt64List().GetValue()))
	if kind != 0 && kind != f.Kind || !f.VarLen() && n != f.Size() {
		return nil, errOracle
	}
	switch f.Kind {
	case example.Float:
		return bits(p.GetFloatList().GetValue()), nil
	case example.Int64:
		return fmt.Sprint(p.GetInt64List().GetValue()), nil
	}
	return fmt.Sprintf("%q", p.GetBytesList().GetValue()), nil
}

// bits makes floats comparable, NaN included.
func bits(floats []float32) string {
	u := make([]uint32, len(floats))
	for i, f := range floats {
		u[i] = math.Float32bits(f)
	}
	return fmt.Sprint(u)
}

// rowOf returns row r of a batch in the oracle's form.
func rowOf(b *example.Batch, r int) (row []any) {
	for i := range b.Columns {
		c := &b.Columns[i]
		if !c.Feature.Sequence {
			start, end := c.Row(r)
			row = append(row, valuesOf(c, start, end))
			continue
		}
		steps := []any{}
		for s := c.Offsets[r]; s < c.Offsets[r+1]; s++ {
			steps = append(steps, valuesOf(c, int(c.Inner[s]), int(c.Inner[s+1])))
		}
		row = append(row, steps)
	}
	return row
}

func valuesOf(c *example.Column, start, end int) any {
	switch c.Feature.Kind {
	case example.Float:
		return bits(c.Floats[start:end])
	case example.Int64:
		return fmt.Sprint(c.Ints[start:end])
	}
	list := [][]byte{}
	for i := start; i < end; i++ {
		list = append(list, c.Bytes(i))
	}
	return fmt.Sprintf("%q", list)
}

// dataSets are the corpus: files that TFX wrote, with their schema.
var dataSets = []struct {
	schema, files string
	records       int
}{
	{"testdata/penguin/schema/schema.pbtxt", "testdata/penguin/examples/Split-train/*", 234},
	{"testdata/penguin/schema/schema.pbtxt", "testdata/penguin/examples/Split-eval/*", 100},
	{"testdata/penguin/transformed_metadata/schema.pbtxt", "testdata/penguin/transformed_examples/Split-train/*", 234},
	{"testdata/penguin/transformed_metadata/schema.pbtxt", "testdata/penguin/transformed_examples/Split-eval/*", 100},
	{"testdata/taxi/schema/schema.pbtxt", "testdata/taxi/examples/Split-eval/*", 4966},
	{"testdata/taxi/transformed_metadata/schema.pbtxt", "testdata/taxi/transformed_examples/Split-eval/*", 4966},
}

// recordsOf returns the first records of the files, at most n of them; 0 is all.
func recordsOf(t testing.TB, pattern string, n int) (records [][]byte) {
	t.Helper()
	files, err := example.Files(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		r, err := tfrecord.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for n == 0 || len(records) < n {
			data, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, slices.Clone(data))
		}
	}
	return records
}

func TestTheCorpusIsReadAsProtocolBuffersHaveIt(t *testing.T) {
	t.Parallel()
	for _, set := range dataSets {
		spec := specOf(t, set.schema)
		records := recordsOf(t, set.files, 0)
		equal(t, set.files, len(records), set.records)
		b, err := example.Parse(spec, records...)
		if err != nil {
			t.Fatal(err)
		}
		for r, bytes := range records {
			want, err := oracle(spec, bytes)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, fmt.Sprint(set.files, " row ", r), rowOf(b, r), want)
		}
	}
}

// fuzzSpec has features of all kinds that the corpus has, and some of sequences. None has a
// default, which the oracle does not know.
func fuzzSpec() example.Spec {
	return example.Spec{
		{Name: "company", Kind: example.Bytes},
		{Name: "fare", Kind: example.Float, Shape: []int{1}},
		{Name: "steps", Kind: example.Int64, Sequence: true},
		{Name: "trip_seconds", Kind: example.Int64},
		{Name: "words", Kind: example.Bytes, Shape: []int{1}, Sequence: true, AllowMissing: true},
	}
}

// compareWithOracle checks that records which both the decoder and proto.Unmarshal accept have the
// same values in both.
func compareWithOracle(t *testing.T, spec example.Spec, bytes []byte) {
	t.Helper()
	b, err := example.Parse(spec, bytes)
	want, oracleErr := oracle(spec, bytes)
	switch {
	case err == nil && oracleErr == nil:
		equal(t, fmt.Sprintf("%q", bytes), rowOf(b, 0), want)
	case err == nil && errors.Is(oracleErr, errOracle):
		t.Errorf("%q was read; %v", bytes, oracleErr)
	case err != nil && oracleErr == nil:
		t.Errorf("%q was refused with %v; it reads %v", bytes, err, want)
	case err != nil && !errors.Is(err, example.ErrInput):
		t.Errorf("error %v is not an ErrInput", err)
	}
}

func FuzzExample(f *testing.F) {
	for _, r := range recordsOf(f, "testdata/taxi/examples/Split-eval/*", 5) {
		f.Add(r)
	}
	for _, bytes := range tableOfEdges() {
		f.Add(bytes)
	}
	spec := fuzzSpec().Without("steps", "words")
	f.Fuzz(func(t *testing.T, bytes []byte) { compareWithOracle(t, spec, bytes) })
}

func FuzzSequenceExample(f *testing.F) {
	context := recordsOf(f, "testdata/taxi/examples/Split-eval/*", 1)[0]
	f.Add(context)
	f.Add(slices.Concat(context, lists("steps", []int64{1, 300}, nil, []int64{-1})))
	f.Add(slices.Concat(lists("steps"), context, lists("words", []int64{1})))
	words := message(2, message(1, message(1, []byte("words")), message(2, message(1, message(1, message(1, []byte("w")))))))
	f.Add(slices.Concat(context, words))
	f.Fuzz(func(t *testing.T, bytes []byte) { compareWithOracle(t, fuzzSpec(), bytes) })
}

// Golden values by TensorFlow: the penguin serving model's transform_features of each eval record
// are what Transform wrote.
func TestTransformedPenguinsAreWhatTensorFlowComputed(t *testing.T) {
	t.Parallel()
	golden, err := os.Open("testdata/penguin/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer golden.Close()
	raw := recordsOf(t, "testdata/penguin/examples/Split-eval/*", 0)
	b, err := example.Parse(specOf(t, "testdata/penguin/transformed_metadata/schema.pbtxt"), recordsOf(t, "testdata/penguin/transformed_examples/Split-eval/*", 0)...)
	if err != nil {
		t.Fatal(err)
	}
	for r, line := range goldenLines(t, golden)[:100] {
		equal(t, fmt.Sprint("raw record ", r), raw[r], line.Example)
		for name, want := range line.Transformed {
			c := b.Column(name)
			if c.Feature.Kind == example.Float && c.Floats[r] != float32(want[0][0]) || c.Feature.Kind == example.Int64 && c.Ints[r] != int64(want[0][0]) {
				t.Errorf("row %d, %s: got %v, TensorFlow computed %v", r, name, values(c, r, r+1), want)
			}
		}
	}
}
