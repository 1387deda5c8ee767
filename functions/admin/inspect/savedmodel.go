package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// SavedModel describes a model that TensorFlow can serve.
type SavedModel struct {
	TensorFlow string   `json:"tensorflow"` // version that wrote it, according to the file
	Tags       []string `json:"tags"`
	// Checksum of saved_model.pb, hexadecimal.
	Fingerprint string         `json:"fingerprint,omitempty"`
	Signatures  []Signature    `json:"signatures"`
	Variables   []Variable     `json:"variables"`
	Weights     int64          `json:"weights"` // numbers in all variables
	Assets      []Asset        `json:"assets,omitempty"`
	Ops         map[string]int `json:"ops"`
}

// Signature is a function of a SavedModel.
type Signature struct {
	Name    string `json:"name"`
	Method  string `json:"method"`
	Inputs  []Port `json:"inputs"`
	Outputs []Port `json:"outputs"`
}

// Variable is one tensor of a SavedModel or a checkpoint.
type Variable struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shape string `json:"shape"`
	Count int64  `json:"count"` // of its elements
}

// Asset is a file that a graph reads.
type Asset struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

const (
	fingerprintFile = "fingerprint.pb"
	variablesIndex  = "variables/variables.index"
)

func inspectSavedModel(ctx context.Context, s *Source, o Options) (*SavedModel, error) {
	if s.single {
		dir, err := s.local(ctx, o.Limit, s.Files[0].Path)
		if err != nil {
			return nil, err
		}
		return describeModel(dir, nil)
	}
	dir, err := s.local(ctx, o.Limit, savedModelFile, fingerprintFile, variablesIndex)
	if err != nil {
		return nil, err
	}
	var assets []Asset
	for _, f := range s.Files {
		if name, ok := strings.CutPrefix(f.Path, "assets/"); ok {
			assets = append(assets, Asset{name, f.Bytes})
		}
	}
	return describeModel(dir, assets)
}

// describeModel reads a model whose files are in dir; missing files are ignored.
func describeModel(dir string, assets []Asset) (*SavedModel, error) {
	model, err := graph.Open(dir)
	if err != nil {
		return nil, err
	}
	info := model.Meta.GetMetaInfoDef()
	m := &SavedModel{
		TensorFlow: info.GetTensorflowVersion(), Tags: info.GetTags(), Assets: assets, Ops: opCounts(model),
		Signatures: []Signature{}, Variables: []Variable{},
	}
	signatures, err := model.Signatures()
	if err != nil {
		return nil, err
	}
	for _, one := range signatures {
		m.Signatures = append(m.Signatures, Signature{one.Name, one.Method, ports(one.Inputs), ports(one.Outputs)})
	}
	if m.Fingerprint, err = fingerprint(filepath.Join(dir, fingerprintFile)); err != nil {
		return nil, err
	}
	prefix := filepath.Join(dir, strings.TrimSuffix(filepath.FromSlash(variablesIndex), ".index"))
	if _, err := os.Stat(prefix + ".index"); err != nil {
		return m, nil // no variables
	}
	m.Variables, m.Weights, err = variables(prefix)
	return m, err
}

func fingerprint(name string) (string, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var p corepb.FingerprintDef
	if err == nil {
		err = proto.Unmarshal(data, &p)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return fmt.Sprintf("%016x", p.GetSavedModelChecksum()), nil
}

// variables returns the variables that the index of a bundle names, and how many numbers they have.
// It does not read values.
func variables(prefix string) (list []Variable, weights int64, err error) {
	b, err := tensorbundle.Open(prefix)
	if err != nil {
		return nil, 0, err
	}
	list = []Variable{}
	for _, v := range b.Variables() {
		if v.Key == tensorbundle.ObjectGraphKey {
			continue
		}
		name := strings.TrimSuffix(v.Key, "/.ATTRIBUTES/VARIABLE_VALUE")
		one := Variable{Name: name, Type: typeName(v.DType), Shape: shapeText(v.Shape), Count: 1}
		if v.Shape == nil {
			one.Shape = "[]"
		}
		for _, size := range v.Shape {
			one.Count = times(one.Count, int64(size))
		}
		if v.DType != "DT_STRING" {
			weights = plus(weights, one.Count)
		}
		list = append(list, one)
	}
	return list, weights, nil
}

// times and plus stop at the largest number, because shapes in files may be arbitrary.
func times(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * max(b, 0)
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Port is an input or an output of a function: a name, and the tensors that it consists of.
type Port struct {
	Name   string `json:"name"`
	Type   string `json:"type"`   // float32, int64, string ...
	Shape  string `json:"shape"`  // [?, 4]: ? is any size; "" if not even the rank is known
	Layout string `json:"layout"` // dense, sparse or ragged
}

var layouts = map[graph.Layout]string{graph.Dense: "dense", graph.Sparse: "sparse", graph.Ragged: "ragged"}

func ports(specs []graph.Spec) []Port {
	ports := []Port{}
	for _, s := range specs {
		ports = append(ports, Port{Name: s.Name, Type: typeName(s.DType.String()), Shape: shapeText(s.Shape), Layout: layouts[s.Layout]})
	}
	return ports
}

// typeName returns TensorFlow's Python name of a type: DT_FLOAT is float32.
func typeName(dtype string) string {
	switch name := strings.ToLower(strings.TrimPrefix(dtype, "DT_")); name {
	case "float":
		return "float32"
	case "double":
		return "float64"
	case "half":
		return "float16"
	default:
		return name
	}
}

func shapeText(shape []int) string {
	if shape == nil {
		return ""
	}
	sizes := make([]string, len(shape))
	for i, size := range shape {
		sizes[i] = fmt.Sprint(size)
		if size < 0 {
			sizes[i] = "?"
		}
	}
	return "[" + strings.Join(sizes, ", ") + "]"
}

// opCounts counts the ops of a graph and of all its functions.
func opCounts(m *graph.Model) map[string]int {
	counts := map[string]int{}
	g := m.Meta.GetGraphDef()
	for _, n := range g.GetNode() {
		counts[n.GetOp()]++
	}
	for _, f := range g.GetLibrary().GetFunction() {
		for _, n := range f.GetNodeDef() {
			counts[n.GetOp()]++
		}
	}
	return counts
}
