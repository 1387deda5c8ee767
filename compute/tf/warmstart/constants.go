package warmstart

import (
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// constant returns the value of a Const node, or of a constant that a function captured.
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

// captured returns a constant object: it names the node of the graph that contains its value.
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

// wholeNumber returns a constant with one element.
func (t *tracer) wholeNumber(f *frame, tensor string) (int64, bool) {
	list := wholeNumbers(t.constant(f, tensor))
	if len(list) != 1 {
		return 0, false
	}
	return list[0], true
}

// wholeNumbers returns those of a constant, or of a range.
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

// wholeNumbers returns the elements of a constant of int32 or int64; nil of any other.
func wholeNumbers(p *tensorpb.TensorProto) []int64 {
	t, err := tensor.FromProto(p)
	if err != nil {
		return nil
	}
	var list []int64
	for _, v := range tensor.Integers(t) {
		list = append(list, int64(v))
	}
	return list
}
