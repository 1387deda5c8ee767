package savedmodel

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/tensorflow"
)

// transformGraph is the SavedModel in a TransformGraph artifact, with the one function in it that counts: raw features in,
// transformed features out.
type transformGraph struct {
	dir      string // of the SavedModel
	model    *tensorflow.Model
	meta     *corepb.MetaGraphDef
	function *functionpb.FunctionDef
	bound    []int32 // objects that stand behind the function's last arguments
	inputs   []feature
	outputs  []transformOutput
}

// transformOutput is one transformed feature. Sparse and ragged ones are several tensors.
type transformOutput struct {
	tensorSpec
	dense bool
	first int // place of its first tensor among the function's results
}

// readTransformGraph reads the artifact in dir, as far as it is needed to serve it.
func readTransformGraph(dir string) (*transformGraph, error) {
	m, err := tensorflow.Open(filepath.Join(dir, "transform_fn"))
	if err != nil {
		return nil, err
	}
	return newTransformGraph(m)
}

func newTransformGraph(m *tensorflow.Model) (*transformGraph, error) {
	t, err := m.Trace("transform_fn")
	if err != nil {
		return nil, err
	}
	g := &transformGraph{dir: m.Dir, model: m, meta: m.Meta, function: t.Function, bound: t.Captures}
	for _, in := range t.Inputs {
		ft, err := rawInputOf(in)
		if err != nil {
			return nil, fmt.Errorf("feature %q: %w", in.Name, err)
		}
		g.inputs = append(g.inputs, ft)
	}
	at := 0
	for _, out := range t.Outputs {
		spec := tensorSpec{key: out.Name, dtype: out.DType, shape: out.Shape}
		g.outputs = append(g.outputs, transformOutput{tensorSpec: spec, dense: out.Layout == tensorflow.Dense, first: at})
		at += out.Tensors()
	}
	return g, nil
}

// rawInputOf says how a raw feature is parsed. Its first dimension is the batch.
func rawInputOf(in tensorflow.Spec) (feature, error) {
	ft := feature{name: in.Name, dtype: in.DType, sparse: in.Layout == tensorflow.Sparse}
	switch {
	case in.Layout == tensorflow.Ragged:
		return ft, errors.New("is ragged: only dense and sparse features are parsed when serving")
	case in.Layout == tensorflow.Sparse && len(in.Shape) != 2:
		return ft, errors.New("sparse, but not of shape [batch, values]")
	case in.Layout == tensorflow.Dense && (len(in.Shape) == 0 || slices.Min(append(in.Shape[1:], 0)) < 0):
		return ft, fmt.Errorf("shape %v can't be parsed from examples", in.Shape)
	case !slices.Contains([]typepb.DataType{float32Type, int64Type, stringType}, ft.dtype):
		return ft, fmt.Errorf("type %v can't be parsed from examples", ft.dtype)
	}
	if !ft.sparse {
		ft.shape = in.Shape[1:]
	}
	return ft, nil
}

// tensors is how many arguments a feature takes: a sparse one has indices, values and shape.
func (ft feature) tensors() int {
	if ft.sparse {
		return 3
	}
	return 1
}
