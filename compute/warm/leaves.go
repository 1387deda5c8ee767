package warm

import (
	"encoding/binary"
	"strings"

	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// parsed is a feature as it comes out of a tf.Example.
func (t *tracer) parsed(o origin) []column {
	sparse, dense := parseKeys(t, o)
	at, ok := parseOutput(o, len(sparse))
	switch {
	case !ok:
		return nil
	case at.dense && at.index < len(dense):
		width := 1
		if shapes := o.node.GetAttr()["dense_shapes"].GetList().GetShape(); at.index < len(shapes) {
			for _, d := range shapes[at.index].GetDim() {
				if d.GetSize() < 1 || d.GetSize() > int64(maxColumns/width) {
					return nil
				}
				width *= int(d.GetSize())
			}
		}
		return features(dense[at.index], width, nil)
	case !at.dense && at.index < len(sparse):
		return features(sparse[at.index], 1, nil)
	}
	return nil
}

// parseKeys are the names of the features that an op parses.
func parseKeys(t *tracer, o origin) (sparse, dense []string) {
	in := o.node.GetInput()
	if o.node.GetOp() == "ParseExampleV2" { // serialized, names, sparse keys, dense keys, ragged keys, defaults
		if len(in) < 4 {
			return nil, nil
		}
		return t.strings(o.frame, in[2]), t.strings(o.frame, in[3])
	}
	// serialized, names, a tensor for each sparse key, one for each dense key, defaults
	count := func(attr string) int { return int(max(0, min(o.node.GetAttr()[attr].GetI(), int64(len(in))))) }
	for i, name := range in[min(2, len(in)):] {
		switch {
		case i < count("Nsparse"):
			sparse = append(sparse, t.strings(o.frame, name)...)
		case i < count("Nsparse")+count("Ndense"):
			dense = append(dense, t.strings(o.frame, name)...)
		}
	}
	return sparse, dense
}

type parseIndex struct {
	dense bool
	index int
}

// parseOutput says which feature's values an output is: outputs are all indices, all values, all shapes of sparse features,
// then dense ones.
func parseOutput(o origin, sparse int) (parseIndex, bool) {
	switch {
	case o.output == "dense_values":
		return parseIndex{true, o.index}, o.index >= 0
	case o.output == "sparse_values":
		return parseIndex{false, o.index}, o.index >= 0
	case o.output != "":
		return parseIndex{}, false
	case o.index >= 3*sparse:
		return parseIndex{true, o.index - 3*sparse}, true
	}
	return parseIndex{false, o.index - sparse}, o.index >= sparse && o.index < 2*sparse
}

// constant is the value of a Const node, or of a constant that a function captured.
func (t *tracer) constant(f *frame, tensor string) *tensorpb.TensorProto {
	o, ok := f.through(tensor, "Identity")
	if ok && o.node == nil && o.object >= 0 {
		return t.captured(o.object)
	}
	if !ok || o.node == nil || o.node.GetOp() != "Const" {
		return nil
	}
	return o.node.GetAttr()["value"].GetTensor()
}

// captured is a constant object: it names the node of the graph that holds its value.
func (t *tracer) captured(id int32) *tensorpb.TensorProto {
	return t.model.nodes[t.model.object(id).GetConstant().GetOperation()].GetAttr()["value"].GetTensor()
}

func (t *tracer) strings(f *frame, tensor string) []string {
	var list []string
	for _, text := range t.constant(f, tensor).GetStringVal() {
		list = append(list, string(text))
	}
	return list
}

// wholeNumber is a constant with one element.
func (t *tracer) wholeNumber(f *frame, tensor string) (int64, bool) {
	list := wholeNumbers(t.constant(f, tensor))
	if len(list) != 1 {
		return 0, false
	}
	return list[0], true
}

// wholeNumbers are those of a constant, or of a range.
func (t *tracer) wholeNumbers(f *frame, tensor string) []int64 {
	o, ok := f.through(tensor, "Identity", "Cast")
	if !ok || o.node == nil || o.node.GetOp() != "Range" || len(o.node.GetInput()) != 3 {
		return wholeNumbers(t.constant(f, tensor))
	}
	var bounds [3]int64 // start, limit, step
	for i, in := range o.node.GetInput() {
		if bounds[i], ok = t.wholeNumber(o.frame, in); !ok {
			return nil
		}
	}
	if bounds[0] != 0 || bounds[1] < 0 || bounds[1] > maxColumns || bounds[2] != 1 {
		return nil
	}
	list := make([]int64, bounds[1])
	for i := range list {
		list[i] = int64(i)
	}
	return list
}

// wholeNumbers are the elements of a constant as they stand in it.
func wholeNumbers(p *tensorpb.TensorProto) []int64 {
	list := append([]int64(nil), p.GetInt64Val()...)
	for _, v := range p.GetIntVal() {
		list = append(list, int64(v))
	}
	content := p.GetTensorContent()
	switch p.GetDtype() {
	case typepb.DataType_DT_INT64:
		for ; len(content) >= 8; content = content[8:] {
			list = append(list, int64(binary.LittleEndian.Uint64(content)))
		}
	case typepb.DataType_DT_INT32:
		for ; len(content) >= 4; content = content[4:] {
			list = append(list, int64(int32(binary.LittleEndian.Uint32(content))))
		}
	}
	return list
}

// wholeName is the name under which the parts of a variable are saved: dnn/kernel for dnn/kernel/part_0.
func wholeName(node string) string {
	rest, part, ok := cutLast(node, '/')
	if ok && (strings.HasPrefix(part, "part_") || strings.HasPrefix(part, "t_")) {
		return rest
	}
	return node
}
