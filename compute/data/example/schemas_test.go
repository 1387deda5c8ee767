package example_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// tftSchema is a schema and tf.Transform's result for it (testdata/schemas.py).
type tftSchema struct {
	Schema  string               `json:"schema"`
	Error   string               `json:"error"` // class of the error; "" for none
	Tensors map[string]tftTensor `json:"tensors"`
}

// tftTensor is one feature of TensorFlow's spec. Strings are hexadecimal bytes, floats are their
// bits.
type tftTensor struct {
	Layout     string         `json:"layout"`
	Type       string         `json:"type"`
	Shape      []int          `json:"shape"`
	Default    []any          `json:"default"`
	Values     string         `json:"values"`
	Indices    []string       `json:"indices"`
	Sorted     bool           `json:"sorted"`
	Partitions []tftPartition `json:"partitions"`
	Splits     string         `json:"splits"`
	Sequence   bool           `json:"sequence"`
	Domain     tftDomain      `json:"domain"`
}

type tftPartition struct {
	Uniform   int64  `json:"uniform"`
	RowLength string `json:"row_length"`
}

type tftDomain struct {
	Words       []string `json:"words"`
	Min         *int64   `json:"min"`
	Max         *int64   `json:"max"`
	Categorical bool     `json:"categorical"`
}

// asTFT returns one of our tensors in tf.Transform's form.
func asTFT(t example.TensorSpec) tftTensor {
	types := map[example.Kind]string{example.Bytes: "string", example.Float: "float32", example.Int64: "int64"}
	out := tftTensor{Layout: t.Layout.String(), Type: types[t.Kind], Shape: t.Shape, Indices: t.Indices, Sorted: t.Sorted, Sequence: t.Sequence}
	if t.Layout == example.Sparse || t.Layout == example.Ragged {
		out.Values = t.Values
	}
	if t.Layout == example.Ragged {
		out.Splits = map[bool]string{false: "int64", true: "int32"}[t.SplitsInt32]
	}
	for _, p := range t.Partitions {
		out.Partitions = append(out.Partitions, tftPartition{Uniform: p.Uniform, RowLength: p.RowLength})
	}
	if t.Default != nil {
		size := 1
		for _, dim := range t.Shape {
			size *= dim
		}
		for range size {
			out.Default = append(out.Default, defaultValue(t))
		}
	}
	out.Domain = tftDomain{Words: t.Vocabulary, Categorical: t.Categorical}
	if r := t.IntRange; r != nil && r.Min != math.MinInt64 {
		out.Domain.Min = &r.Min
	}
	if r := t.IntRange; r != nil && r.Max != math.MaxInt64 {
		out.Domain.Max = &r.Max
	}
	return out
}

func defaultValue(t example.TensorSpec) any {
	switch t.Kind {
	case example.Float:
		return json.Number(fmt.Sprint(math.Float32bits(t.Default.Float)))
	case example.Int64:
		return json.Number(fmt.Sprint(t.Default.Int64))
	}
	return hex.EncodeToString(t.Default.Bytes)
}

func decodeAnswers(t *testing.T, text []byte) (answers []tftSchema) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

func compareWithTransform(t *testing.T, answers []tftSchema) {
	t.Helper()
	for _, want := range answers {
		schema, err := example.ParseSchema("schema", strings.NewReader(want.Schema))
		if err != nil {
			t.Errorf("%s: %v", want.Schema, err)
			continue
		}
		tensors, err := schema.Tensors()
		if (err != nil) != (want.Error != "") {
			t.Errorf("%s: error %v, tf.Transform's %q", want.Schema, err, want.Error)
			continue
		}
		got := map[string]tftTensor{}
		for _, tensor := range tensors {
			got[tensor.Name] = asTFT(tensor)
			if strings.Contains(want.Schema, "STRUCT") && mistaken(tensor, want.Schema) {
				got[tensor.Name] = withoutDomain(got[tensor.Name])
				want.Tensors[tensor.Name] = withoutDomain(want.Tensors[tensor.Name])
			}
		}
		if diff := cmp.Diff(want.Tensors, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-tf.Transform +ours):\n%s", want.Schema, diff)
		}
	}
}

// mistaken reports the tensors of SequenceExamples for which tf.Transform finds no domain, or that
// of another feature: it looks up dense tensors by their own name instead of the feature's, and
// doesn't distinguish features of one name, whether plain or of steps.
func mistaken(t example.TensorSpec, schema string) bool {
	twice := strings.Count(schema, fmt.Sprintf(`feature { name: %q `, t.Values)) > 1
	return twice || (t.Layout == example.FixedLen || t.Layout == example.VarLen) && t.Name != t.Values
}

func withoutDomain(t tftTensor) tftTensor {
	t.Domain = tftDomain{}
	return t
}

// The golden results are those of tf.Transform 1.21 for the corpus and 150 schemas of the
// generator; the second tier compares again.
func TestFeatureSpecsAreThoseOfTransform(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	answers := decodeAnswers(t, text)
	refused := 0
	for _, a := range answers {
		if a.Error != "" {
			refused++
		}
	}
	if len(answers) < 150 || refused < 20 || refused > len(answers)/2 {
		t.Errorf("%d schemas, %d of them refused: expected more of both", len(answers), refused)
	}
	compareWithTransform(t, answers)
}
