package onnx

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/export/onnx/onnxpb"
	"github.com/stoker-ml/stoker/compute/nn"
)

// oneHot compares each index with 0..depth-1: ONNX's own OneHot would count negative ones from the
// end.
func (w *writer) oneHot(n nn.Node) {
	count := make([]int64, n.Attr.Depth)
	for i := range count {
		count[i] = int64(i)
	}
	all := w.constant(n.Name+"/classes", ints(count, 1, 1, n.Attr.Depth))
	each := w.inner(n, "ids", "Unsqueeze", nil, w.in(n, 0), w.constant(n.Name+"/axes", ints([]int64{2}, 1)))
	w.flat(n, w.toFloat(w.fresh(n.Name+"/numbers"), w.inner(n, "equal", "Equal", nil, each, all)))
}

// embed looks rows up: [b,w] gives [b,w,d], and flat [b,w*d].
func (w *writer) embed(n nn.Node) {
	w.flat(n, w.inner(n, "rows", "Gather", attributes(integer("axis", 0)), w.in(n, 1), w.in(n, 0)))
}

// vocab looks strings up. Of a token that is there twice the first counts.
func (w *writer) vocab(n nn.Node) error {
	keys := &onnxpb.AttributeProto{Name: proto.String("keys_strings"), Type: onnxpb.AttributeProto_STRINGS.Enum()}
	ids := &onnxpb.AttributeProto{Name: proto.String("values_int64s"), Type: onnxpb.AttributeProto_INTS.Enum()}
	seen := map[string]bool{}
	for i, token := range n.Attr.Vocabulary {
		if !utf8.ValidString(token) {
			return fmt.Errorf("token %d of the vocabulary, %q, is not UTF-8, as ONNX wants its strings", i, token)
		}
		if !seen[token] {
			keys.Strings, ids.Ints = append(keys.Strings, []byte(token)), append(ids.Ints, int64(i))
		}
		seen[token] = true
	}
	if len(seen) == 0 {
		w.unknown(n)
		return nil
	}
	w.ml = true
	w.op("LabelEncoder", w.names[n.Name], attributes(keys, ids, integer("default_int64", int64(n.Attr.Depth-1))), w.in(n, 0))
	w.file.Node[len(w.file.Node)-1].Domain = proto.String(mlDomain)
	return nil
}

// unknown is 0 for every string: what an empty vocabulary gives, for LabelEncoder wants a key.
func (w *writer) unknown(n nn.Node) {
	zero := &onnxpb.AttributeProto{Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: ints([]int64{0}, 1)}
	w.op("ConstantOfShape", w.names[n.Name], attributes(zero), w.inner(n, "shape", "Shape", nil, w.in(n, 0)))
}
