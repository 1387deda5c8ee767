package onnx

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stoker-ml/stoker/compute/export/onnx/onnxpb"
)

// Description describes a file by its own metadata.
type Description struct {
	IRVersion int64            `json:"ir_version"`
	Producer  string           `json:"producer"`
	Opsets    map[string]int64 `json:"opsets"` // by domain; "" is ONNX's own
	Inputs    []ValueInfo      `json:"inputs"`
	Outputs   []ValueInfo      `json:"outputs"`
	// The number of times that each operator is in the graph.
	Ops          map[string]int `json:"ops"`
	Initializers int            `json:"initializers"`
	// Bytes of the initializers that are in the file.
	WeightBytes int64 `json:"weight_bytes"`
}

// ValueInfo describes an input or an output of a graph.
type ValueInfo struct {
	Name  string   `json:"name"`
	Type  string   `json:"type"`  // of an element: float, int64, string
	Shape []string `json:"shape"` // a number, a name, or ? each
	Doc   string   `json:"doc,omitempty"`
}

// Limits for what is kept of a file: a graph may have any number of nodes and weights, which are
// counted as they pass.
const (
	maxValueBytes = 1 << 20
	maxValues     = 1 << 16
	maxOps        = 1 << 12
	maxNameBytes  = 1 << 10
)

// Describe reads what a file is, without its weights. A file that is no ONNX model, is truncated,
// or has no outputs, is an error, which doesn't name the file: the caller knows the name that users
// know. Memory depends on the inputs and outputs alone.
func Describe(path string) (Description, error) {
	f, err := os.Open(path)
	if err != nil {
		return Description{}, err
	}
	defer f.Close() // only read: nothing can be lost
	info, err := f.Stat()
	if err != nil {
		return Description{}, err
	}
	d, err := describe(f, info.Size())
	if err != nil {
		return Description{}, fmt.Errorf("is no ONNX model: %w", err)
	}
	return d, nil
}

func describe(r io.Reader, size int64) (Description, error) {
	d := Description{Opsets: map[string]int64{}, Ops: map[string]int{}}
	err := newMessage(r, size).fields(func(m *message, f field) error { return d.model(m, f) })
	switch {
	case err != nil:
		return Description{}, err
	case len(d.Opsets) == 0:
		return Description{}, errors.New("it names no operator set")
	case len(d.Outputs) == 0:
		return Description{}, errors.New("it has no outputs")
	}
	return d, nil
}

// model takes a field of ModelProto.
func (d *Description) model(m *message, f field) (err error) {
	switch f.number {
	case 1: // ir_version
		d.IRVersion = int64(f.value)
	case 2: // producer_name
		d.Producer, err = m.text(f)
	case 7: // graph
		err = m.enter(f, d.graph)
	case 8: // opset_import
		var set onnxpb.OperatorSetIdProto
		if err = m.decode(f, &set); err == nil && len(d.Opsets) < maxOps {
			d.Opsets[set.GetDomain()] = set.GetVersion()
		}
	}
	return err
}

// graph takes a field of GraphProto.
func (d *Description) graph(m *message, f field) (err error) {
	switch f.number {
	case 1: // node
		err = d.node(m, f)
	case 5: // initializer
		d.Initializers++
		err = m.enter(f, d.initializer)
	case 11: // input
		err = addValue(&d.Inputs, m, f)
	case 12: // output
		err = addValue(&d.Outputs, m, f)
	}
	return err
}

// node counts a NodeProto by its operator and domain.
func (d *Description) node(m *message, f field) error {
	var op, domain string
	err := m.enter(f, func(m *message, f field) (err error) {
		switch f.number {
		case 4: // op_type
			op, err = m.text(f)
		case 7: // domain
			domain, err = m.text(f)
		}
		return err
	})
	if err != nil {
		return err
	}
	if domain != "" {
		op = domain + "." + op
	}
	if d.Ops[op]++; len(d.Ops) > maxOps {
		return fmt.Errorf("more than %d different operators", maxOps)
	}
	return nil
}

// initializer adds up the fields of a TensorProto with values: raw_data, 9, and the packed lists
// float_data, int32_data, string_data, int64_data, double_data and uint64_data.
func (d *Description) initializer(_ *message, f field) error {
	switch f.number {
	case 9, 4, 5, 6, 7, 10, 11:
		d.WeightBytes += f.size
	}
	return nil
}

func addValue(to *[]ValueInfo, m *message, f field) error {
	var info onnxpb.ValueInfoProto
	if err := m.decode(f, &info); err != nil {
		return err
	}
	if len(*to) == maxValues {
		return fmt.Errorf("more than %d inputs or outputs", maxValues)
	}
	*to = append(*to, valueOf(&info))
	return nil
}

func valueOf(info *onnxpb.ValueInfoProto) ValueInfo {
	t := info.GetType().GetTensorType()
	v := ValueInfo{Name: info.GetName(), Doc: info.GetDocString(), Type: elementName(t.GetElemType()), Shape: []string{}}
	for _, dim := range t.GetShape().GetDim() {
		switch size := dim.GetValue().(type) {
		case *onnxpb.TensorShapeProto_Dimension_DimValue:
			v.Shape = append(v.Shape, fmt.Sprint(size.DimValue))
		case *onnxpb.TensorShapeProto_Dimension_DimParam:
			v.Shape = append(v.Shape, size.DimParam)
		default:
			v.Shape = append(v.Shape, "?")
		}
	}
	return v
}

// elementName returns a tensor's element type in small letters.
func elementName(t int32) string { return strings.ToLower(onnxpb.TensorProto_DataType(t).String()) }
