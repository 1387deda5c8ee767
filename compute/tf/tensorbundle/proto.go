package tensorbundle

import (
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
)

// Proto reads a variable of strings or of any type of numbers that Numbers reads as a tensor of the type it was saved in.
func (b *Bundle) Proto(key string) (*tensorpb.TensorProto, error) {
	e, err := b.find(key)
	if err != nil {
		return nil, err
	}
	t := &tensorpb.TensorProto{Dtype: e.GetDtype(), TensorShape: e.GetShape()}
	if t.GetDtype() == typepb.DataType_DT_STRING {
		texts, err := b.Strings(key)
		t.StringVal = texts
		return t, err
	}
	t.TensorContent, _, err = b.numeric(key)
	return t, err
}
