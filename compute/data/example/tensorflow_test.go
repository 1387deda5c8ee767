package example_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// parseScript parses with the real TensorFlow. Each request is one call of tf.io.parse_example;
// each answer is an error or columns: values flat and as text (floats as their bits), and for
// ragged ones the row lengths.
const parseScript = `
TYPES = {"string": tf.string, "float": tf.float32, "int64": tf.int64}

def feature(f):
    dtype = TYPES[f["type"]]
    if f["shape"] is None:
        return tf.io.RaggedFeature(dtype, row_splits_dtype=tf.int64)
    return tf.io.FixedLenFeature(f["shape"], dtype, f["default"])

def flat(t):
    a = t.numpy().reshape(-1)
    if a.dtype == object:
        return a.tolist()
    return [str(x) for x in (a.view(np.uint32) if a.dtype == np.float32 else a).tolist()]

def column(t):
    if not isinstance(t, tf.RaggedTensor):
        return {"values": flat(t)}
    lengths = [r.tolist() for r in (x.numpy() for x in t.nested_row_lengths())]
    return {"values": flat(t.flat_values), "lengths": lengths}

def parse(request):
    return tf.io.parse_example([b64(r) for r in request["records"]], {f["name"]: feature(f) for f in request["spec"]})

def answer(request):
    try:
        return {"columns": {k: column(t) for k, t in parse(request).items()}}
    except (tf.errors.InvalidArgumentError, tf.errors.DataLossError) as e:
        return {"error": str(e)}
    except UnicodeDecodeError:  # of TensorFlow's message, which quotes the record
        return {"error": "could not parse"}

def check(requests):
    return [answer(r) for r in requests]
`

type tfFeature struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Shape    []int    `json:"shape"`
	Default  *float32 `json:"default"`
	Sequence bool     `json:"sequence"`
}

type tfRequest struct {
	name    string
	spec    example.Spec
	Spec    []tfFeature `json:"spec"`
	Records [][]byte    `json:"records"`
}

type tfAnswer struct {
	Error   string
	Columns map[string]struct {
		Values  []string
		Lengths [][]int
	}
}

func newRequest(name string, spec example.Spec, records ...[]byte) tfRequest {
	r := tfRequest{name: name, spec: spec, Records: records}
	for i, b := range records {
		if b == nil {
			records[i] = []byte{}
		}
	}
	for _, f := range spec {
		tf := tfFeature{Name: f.Name, Type: f.Kind.String(), Shape: f.Shape, Sequence: f.Sequence}
		if f.Default != nil {
			tf.Default = &f.Default.Float
		}
		r.Spec = append(r.Spec, tf)
	}
	return r
}

// tfColumn returns a column in the form of the answers.
func tfColumn(c *example.Column) (values []string, lengths [][]int) {
	for i := range c.Len() {
		switch c.Feature.Kind {
		case example.Float:
			values = append(values, fmt.Sprint(math.Float32bits(c.Floats[i])))
		case example.Int64:
			values = append(values, fmt.Sprint(c.Ints[i]))
		default:
			values = append(values, base64.StdEncoding.EncodeToString(c.Bytes(i)))
		}
	}
	if c.Feature.VarLen() {
		lengths = append(lengths, lengthsOf(c.Offsets))
	}
	return values, lengths
}

func lengthsOf(offsets []int32) []int {
	lengths := []int{}
	for i := range len(offsets) - 1 {
		lengths = append(lengths, int(offsets[i+1]-offsets[i]))
	}
	return lengths
}

func compareWithTensorFlow(t *testing.T, requests []tfRequest) {
	t.Helper()
	var answers []tfAnswer
	tftest.Run(t, parseScript, requests, &answers)
	for i, r := range requests {
		b, err := example.Parse(r.spec, r.Records...)
		if (err != nil) != (answers[i].Error != "") {
			t.Errorf("%s: error %v, TensorFlow's %q", r.name, err, answers[i].Error)
			continue
		}
		for name, want := range answers[i].Columns {
			values, lengths := tfColumn(b.Column(name))
			equal(t, r.name+": values of "+name, fmt.Sprint(values), fmt.Sprint(want.Values))
			equal(t, r.name+": lengths of "+name, fmt.Sprint(lengths), fmt.Sprint(want.Lengths))
		}
	}
}

func TestParsesAsTensorFlowDoes(t *testing.T) {
	t.Parallel()
	var requests []tfRequest
	for _, set := range dataSets {
		requests = append(requests, newRequest(set.files, specOf(t, set.schema), recordsOf(t, set.files, 1000)...))
	}
	edges := tableOfEdges()
	for _, name := range slices.Sorted(maps.Keys(edges)) {
		a := example.Feature{Name: "a", Kind: example.Float}
		requests = append(requests, newRequest(name+", VarLen", example.Spec{a}, edges[name]))
		a.Shape = []int{1}
		requests = append(requests, newRequest(name+", FixedLen", example.Spec{a}, edges[name]))
		a.Default = &example.Default{Float: 5}
		requests = append(requests, newRequest(name+", FixedLen with default", example.Spec{a}, edges[name]))
	}
	compareWithTensorFlow(t, requests)
}

// Encodings that no writer uses. TensorFlow refuses most, reads one, and silently drops a part of
// two; here all are read as protocol buffers define them.
func TestOddEncodingsAreReadWhereTensorFlowRefusesThem(t *testing.T) {
	t.Parallel()
	list := func(values ...float32) []byte { return message(2, message(1, fixed32s(values...))) }
	key, value, later := message(1, []byte("a")), message(2, list(7)), message(9, []byte("later"))
	spec := example.Spec{{Name: "a", Kind: example.Float}}
	var requests []tfRequest
	odd := map[string][]byte{
		"unknown field in Example":  slices.Concat(later, exampleOf(entryA(list(7)))),
		"unknown field in Features": message(1, later, message(1, key, value)),
		"unknown field in entry":    message(1, message(1, later, key, value)),
		"unknown field in Feature":  exampleOf(entryA(later, list(7))),
		"unknown field in list":     exampleOf(entryA(message(2, later, message(1, fixed32s(7))))),
		"packed and not":            exampleOf(entryA(message(2, unpacked(1), message(1, fixed32s(2, 3)), unpacked(4)))),
		"packed in two parts":       exampleOf(entryA(message(2, message(1, fixed32s(1)), message(1, fixed32s(2))))),
		"list twice":                exampleOf(entryA(list(1), list(2))),
		"value twice":               message(1, message(1, key, value, message(2, list(2)))),
		"key twice":                 message(1, message(1, key, key, value)),
		"no value":                  message(1, message(1, key)),
		"no key":                    message(1, message(1, value)),
	}
	for _, name := range slices.Sorted(maps.Keys(odd)) {
		requests = append(requests, newRequest(name, spec, odd[name]))
	}
	var answers []tfAnswer
	tftest.Run(t, parseScript, requests, &answers)
	for i, r := range requests {
		b, err := example.Parse(spec, r.Records...)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		values, _ := tfColumn(b.Column("a"))
		theirs := answers[i].Columns["a"].Values
		if r.name == "list twice" || r.name == "packed in two parts" {
			values = values[:1] // all that TensorFlow reads
		}
		if answers[i].Error == "" {
			equal(t, r.name, fmt.Sprint(values), fmt.Sprint(theirs))
		}
	}
}
