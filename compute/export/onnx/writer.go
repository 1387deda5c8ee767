package onnx

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/export/onnx/onnxpb"
	"github.com/stoker-ml/stoker/compute/export/partition"
	"github.com/stoker-ml/stoker/compute/nn"
)

// writer makes a file's graph. Values of the model get separate names in the file, because there an
// output is a value itself, and not another name for a node.
type writer struct {
	file   *onnxpb.GraphProto
	graph  *nn.Graph
	types  map[string]nn.Type
	params map[string]*nn.Param
	names  map[string]string // in the file: of inputs, of params that are written, and of nodes
	taken  map[string]bool   // names in the file
	ml     bool              // the domain ai.onnx.ml is used
}

func newWriter(g *nn.Graph) (*writer, error) {
	types, err := g.Types()
	if err != nil {
		return nil, err
	}
	w := &writer{
		file: &onnxpb.GraphProto{Name: proto.String("model")}, graph: g, types: types,
		params: map[string]*nn.Param{}, names: map[string]string{}, taken: map[string]bool{},
	}
	for i := range g.Params {
		w.params[g.Params[i].Name] = &g.Params[i]
	}
	return w, w.reserve()
}

// reserve gives inputs and outputs their external names.
func (w *writer) reserve() error {
	for _, in := range w.graph.Inputs {
		w.names[in.Name] = in.Name
		w.taken[in.Name] = true
	}
	for _, out := range w.graph.Outputs {
		if w.taken[out.Name] {
			return fmt.Errorf("output %q has the name of an input or of another output, which ONNX does not allow", out.Name)
		}
		w.taken[out.Name] = true
		if _, named := w.names[out.Node]; !named {
			w.names[out.Node] = out.Name
		}
	}
	return nil
}

// fresh returns an unused name in the file.
func (w *writer) fresh(name string) string {
	free := name
	for i := 1; w.taken[free]; i++ {
		free = fmt.Sprintf("%s_%d", name, i)
	}
	w.taken[free] = true
	return free
}

// node writes one node of the model.
func (w *writer) node(n nn.Node) error {
	if w.names[n.Name] == "" {
		w.names[n.Name] = w.fresh(n.Name)
	}
	return w.lower(n)
}

// in returns the i-th operand of a node; a param is written when it is first used.
func (w *writer) in(n nn.Node, i int) string {
	name := n.In[i]
	if p := w.params[name]; p != nil && w.names[name] == "" {
		w.names[name] = w.constant(name, floats(p.Values, p.Shape...))
	}
	return w.names[name]
}

// ins returns all operands.
func (w *writer) ins(n nn.Node) []string {
	all := make([]string, len(n.In))
	for i := range n.In {
		all[i] = w.in(n, i)
	}
	return all
}

// op writes an operator whose result has a name in the file.
func (w *writer) op(op, result string, attributes []*onnxpb.AttributeProto, in ...string) string {
	w.file.Node = append(w.file.Node, &onnxpb.NodeProto{
		OpType: proto.String(op), Name: proto.String(result), Input: in, Output: []string{result}, Attribute: attributes,
	})
	return result
}

// inner writes an operator that is only a step of node n.
func (w *writer) inner(n nn.Node, step, op string, attributes []*onnxpb.AttributeProto, in ...string) string {
	return w.op(op, w.fresh(n.Name+"/"+step), attributes, in...)
}

// constant writes a tensor under its name, or under a similar unused one.
func (w *writer) constant(name string, t *onnxpb.TensorProto) string {
	t.Name = proto.String(w.fresh(name))
	w.file.Initializer = append(w.file.Initializer, t)
	return t.GetName()
}

func (w *writer) inputs(notes []partition.Input) {
	for i, in := range w.graph.Inputs {
		info := value(in.Name, nn.Type{Kind: in.Kind, Width: in.Width})
		if i < len(notes) && notes[i].Note != "" {
			info.DocString = proto.String(notes[i].Note)
		}
		w.file.Input = append(w.file.Input, info)
	}
}

// outputs names the results. A node that is two of them, or an input, is copied.
func (w *writer) outputs() {
	for _, out := range w.graph.Outputs {
		if from := w.names[out.Node]; from != out.Name {
			w.op("Identity", out.Name, nil, from)
		}
		w.file.Output = append(w.file.Output, value(out.Name, w.types[out.Node]))
	}
}

// The metadata of a file; see the package comment.
const (
	irVersion = 10
	opset     = 21
	mlDomain  = "ai.onnx.ml"
	mlOpset   = 4
	producer  = "stoker"
)

// maxBytes is protobuf's limit for a message.
const maxBytes = 1<<31 - 1

// Holds reports whether an op can be written: all but OpHash and OpCross, for whose hashes ONNX has
// no operator.
func Holds(op nn.Op) bool {
	return op == nn.OpVocab || op == nn.OpLabel || plain[op] != "" || lowerings[op] != nil
}

// Write writes the graph to a file. Inputs and outputs have its names. inputs describes what to
// feed to each input, in its order; Write puts that into the file's documentation and, as JSON,
// into its metadata under "inputs". nil: there is no description. Strings that are looked up are
// UTF-8, as ONNX requires. The same graph gives the same bytes.
//
// An op that can't be written is an error that names its node.
func Write(path string, g *nn.Graph, inputs []partition.Input) error {
	model, err := newModel(g, inputs)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if n := proto.Size(model); n > maxBytes {
		return fmt.Errorf("write %s: the model has %d bytes, an ONNX file may have %d", path, n, maxBytes)
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(model)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.WriteFile(path, data, 0o644)
}

func newModel(g *nn.Graph, inputs []partition.Input) (*onnxpb.ModelProto, error) {
	w, err := newWriter(g)
	if err != nil {
		return nil, err
	}
	for _, n := range g.Nodes {
		if err := w.node(n); err != nil {
			return nil, fmt.Errorf("node %q: %w", n.Name, err)
		}
	}
	w.inputs(inputs)
	w.outputs()
	model := &onnxpb.ModelProto{
		IrVersion: proto.Int64(irVersion), ProducerName: proto.String(producer), Graph: w.file,
		OpsetImport: []*onnxpb.OperatorSetIdProto{operators("", opset)},
	}
	if w.ml {
		model.OpsetImport = append(model.OpsetImport, operators(mlDomain, mlOpset))
	}
	return model, explain(model, inputs)
}

func operators(domain string, version int64) *onnxpb.OperatorSetIdProto {
	return &onnxpb.OperatorSetIdProto{Domain: proto.String(domain), Version: proto.Int64(version)}
}

// explain stores the notes of the inputs where a runtime returns them to its caller.
func explain(model *onnxpb.ModelProto, inputs []partition.Input) error {
	if inputs == nil {
		return nil
	}
	text, err := json.Marshal(inputs)
	if err != nil {
		return err
	}
	model.MetadataProps = []*onnxpb.StringStringEntryProto{{Key: proto.String("inputs"), Value: proto.String(string(text))}}
	return nil
}

// batch names the dimension that counts rows.
const batch = "batch"

// floats returns a tensor of float32; without a shape a scalar.
func floats(values []float32, shape ...int) *onnxpb.TensorProto {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return tensor(onnxpb.TensorProto_FLOAT, raw, shape)
}

// ints returns a tensor of int64; without a shape a scalar.
func ints(values []int64, shape ...int) *onnxpb.TensorProto {
	raw := make([]byte, 0, 8*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return tensor(onnxpb.TensorProto_INT64, raw, shape)
}

func tensor(dtype onnxpb.TensorProto_DataType, raw []byte, shape []int) *onnxpb.TensorProto {
	t := &onnxpb.TensorProto{DataType: proto.Int32(int32(dtype)), RawData: raw}
	for _, d := range shape {
		t.Dims = append(t.Dims, int64(d))
	}
	return t
}

// value declares an input or an output of shape [batch, width].
func value(name string, t nn.Type) *onnxpb.ValueInfoProto {
	dtypes := map[nn.ValueKind]onnxpb.TensorProto_DataType{
		nn.Float32: onnxpb.TensorProto_FLOAT, nn.Int64: onnxpb.TensorProto_INT64, nn.String: onnxpb.TensorProto_STRING,
	}
	rows := &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: batch}}
	columns := &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: int64(t.Width)}}
	return &onnxpb.ValueInfoProto{Name: proto.String(name), Type: &onnxpb.TypeProto{
		Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{
			ElemType: proto.Int32(int32(dtypes[t.Kind])),
			Shape:    &onnxpb.TensorShapeProto{Dim: []*onnxpb.TensorShapeProto_Dimension{rows, columns}},
		}},
	}}
}
