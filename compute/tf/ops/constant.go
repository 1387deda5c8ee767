package ops

import (
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

func buildConst(n *Node) (Kernel, error) {
	v, err := Constant(n.attr("value").GetTensor(), n.Budget)
	if err != nil {
		return nil, err
	}
	n.Out = []tensor.DType{v.DType()}
	return func(c *Call) error { c.Out[0] = v; return nil }, n.takes(0)
}

// Constant reads a tensor that is in a graph (tensor.FromProto). Its bytes are charged to b before
// memory is taken for it.
func Constant(p *tensorpb.TensorProto, b *Budget) (tensor.Tensor, error) {
	dims, err := tensor.FixedShape(p)
	if err != nil {
		return nil, err
	}
	if like := tensor.Empty(p.GetDtype()); like != nil {
		bytes := arrayBytes + shapeBytes(dims, like.ElementBytes())
		for _, s := range p.GetStringVal() {
			bytes += int64(len(s))
		}
		if err := b.Charge(bytes); err != nil {
			return nil, err
		}
	}
	return tensor.FromProto(p)
}
