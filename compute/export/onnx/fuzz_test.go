package onnx

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/nn"
)

// Any file is a model with outputs or an error, and the counts don't exceed its content.
func FuzzDescribe(f *testing.F) {
	b := nn.NewBuilder(nn.NewRand(1))
	x := b.Concat("x", b.Input("size", nn.Float32, 3), b.OneHot("town/one_hot", b.Vocabulary("town/id", b.Input("town", nn.String, 1), []string{"Rome"}), 2))
	b.Output("y", b.Dense("out", x, 2, nn.OpRelu))
	g, err := b.Graph()
	if err != nil {
		f.Fatal(err)
	}
	model, err := newModel(g, nil)
	if err != nil {
		f.Fatal(err)
	}
	text, err := proto.Marshal(model)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := describe(bytes.NewReader(text), int64(len(text)))
		if err == nil && (len(d.Outputs) == 0 || d.WeightBytes > int64(len(text)) || d.Initializers > len(text)) {
			t.Errorf("%d bytes are taken for %+v", len(text), d)
		}
	})
}
