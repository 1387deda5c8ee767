package savedmodel

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// transformGraph is the SavedModel in a TransformGraph artifact, with its function from raw
// features to transformed features.
type transformGraph struct {
	dir      string // of the SavedModel
	model    *graph.Model
	meta     *corepb.MetaGraphDef
	function *functionpb.FunctionDef
	captures []capture // the objects that the function's last arguments represent
	inits    []string  // nodes that fill tables
	inputs   []feature
	outputs  []transformOutput
}

// transformOutput is one transformed feature. Sparse and ragged ones are several tensors.
type transformOutput struct {
	tensorSpec
	dense bool
	first int // index of its first tensor among the function's results
}

// readTransformGraph reads the artifact in dir, the parts that are needed to serve it.
func readTransformGraph(dir string) (*transformGraph, error) {
	m, err := graph.Open(filepath.Join(dir, "transform_fn"))
	if err != nil {
		return nil, err
	}
	composites, err := readComposites(filepath.Join(dir, "metadata", "schema.pbtxt"))
	if err != nil {
		return nil, err
	}
	return newTransformGraph(m, composites)
}

// readComposites finds, in the schema of the raw examples, the features that are composed of
// columns of other names. Without a schema there are none.
func readComposites(schema string) ([]example.Composite, error) {
	s, err := example.ReadSchema(schema)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.Composites(), nil
}

func newTransformGraph(m *graph.Model, composites []example.Composite) (*transformGraph, error) {
	g := &transformGraph{dir: m.Dir, model: m, meta: m.Meta}
	t, err := m.Trace("transform_fn")
	if errors.Is(err, graph.ErrNoObjects) {
		t, err = g.modernise()
	} else if err == nil {
		err = g.bind(t)
	}
	if err != nil {
		return nil, err
	}
	g.function = t.Function
	for _, in := range t.Inputs {
		ft, err := rawInputOf(in, composites)
		if err != nil {
			return nil, fmt.Errorf("feature %q: %w", in.Name, err)
		}
		g.inputs = append(g.inputs, ft)
	}
	at := 0
	for _, out := range t.Outputs {
		spec := tensorSpec{key: out.Name, dtype: out.DType, shape: out.Shape}
		g.outputs = append(g.outputs, transformOutput{tensorSpec: spec, dense: out.Layout == graph.Dense, first: at})
		at += out.Tensors()
	}
	return g, nil
}

// bind finds the nodes of the function's captures in the top graph, and the nodes that fill tables
// there.
func (g *transformGraph) bind(t *graph.Trace) error {
	nodes, err := g.model.CaptureNodes(t.Captures)
	if err != nil {
		return err
	}
	g.inits = g.model.InitNodes()
	args := t.Function.GetSignature().GetInputArg()
	args = args[len(args)-len(nodes):]
	for i, id := range t.Captures {
		g.captures = append(g.captures, capture{object: id, node: nodes[i], dtype: args[i].GetType()})
	}
	return nil
}

// rawInputOf returns how a raw feature is parsed. Its first dimension is the batch.
func rawInputOf(in graph.Spec, composites []example.Composite) (feature, error) {
	ft := feature{name: in.Name, column: in.Name, dtype: in.DType, layout: in.Layout, splits: in.Splits}
	named := func(c example.Composite) bool { return c.Name == in.Name }
	if i := slices.IndexFunc(composites, named); i >= 0 && in.Layout != graph.Dense {
		ft.column, ft.indices = composites[i].Values, composites[i].Indices
	}
	if len(in.Shape) > 0 {
		ft.shape = in.Shape[1:]
	}
	unknown := slices.Contains(ft.shape, -1)
	switch {
	case in.Layout == graph.Ragged && in.Levels != 1:
		return ft, errors.New("is ragged in more than one dimension, which can't be parsed from examples")
	case in.Layout == graph.Sparse && len(ft.indices) == 0 && len(ft.shape) != 1:
		return ft, fmt.Errorf("is sparse of shape %v, and no schema in the artifact names its columns", in.Shape)
	case in.Layout == graph.Sparse && len(ft.indices) > 0 && (len(ft.shape) != len(ft.indices) || unknown):
		return ft, fmt.Errorf("is sparse of shape %v, the schema names %d columns of indices", in.Shape, len(ft.indices))
	case in.Layout == graph.Dense && (len(in.Shape) == 0 || unknown):
		return ft, fmt.Errorf("shape %v can't be parsed from examples", in.Shape)
	case !slices.Contains([]typepb.DataType{float32Type, int64Type, stringType}, ft.dtype):
		return ft, fmt.Errorf("type %v can't be parsed from examples", ft.dtype)
	}
	return ft, nil
}

// tensors returns how many arguments a feature takes: a sparse one has indices, values and shape, a
// ragged one values and row splits.
func (ft feature) tensors() int {
	return graph.Spec{Layout: ft.layout, Levels: 1}.Tensors()
}
