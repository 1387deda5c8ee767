package onnx

import (
	"encoding/json"
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/export/onnx/onnxpb"
	"github.com/stoker-ml/stoker/compute/export/partition"
	"github.com/stoker-ml/stoker/compute/nn"
)

// What a file says of itself; see the package comment.
const (
	irVersion = 10
	opset     = 21
	mlDomain  = "ai.onnx.ml"
	mlOpset   = 4
	producer  = "stoker"
)

// maxBytes is what protobuf allows a message to have.
const maxBytes = 1<<31 - 1

// Holds says whether an op can be written: all but OpHash and OpCross, for whose hashes ONNX has no
// operator.
func Holds(op nn.Op) bool {
	return op == nn.OpVocab || op == nn.OpLabel || plain[op] != "" || lowerings[op] != nil
}

// Write writes the graph to a file. Inputs and outputs have its names, and inputs says of each
// input, in its order, what to feed; that goes into the file's documentation and, as JSON, into its
// metadata under "inputs". nil: nothing is said. Strings that are looked up are UTF-8, as ONNX
// wants them. The same graph gives the same bytes.
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

// explain keeps the notes of the inputs where a runtime gives them to its caller.
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
