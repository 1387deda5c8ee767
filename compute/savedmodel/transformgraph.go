package savedmodel

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// transformGraph is the SavedModel in a TransformGraph artifact, with the one function in it that counts: raw features in,
// transformed features out. Features are named through the object graph, never through the flat signature, whose inputs are
// numbered and sorted as text.
type transformGraph struct {
	dir      string // of the SavedModel
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
	dir = filepath.Join(dir, "transform_fn")
	model, err := readModel(dir)
	if err != nil {
		return nil, err
	}
	meta, err := servingGraph(model)
	if err != nil {
		return nil, err
	}
	return newTransformGraph(dir, meta)
}

func newTransformGraph(dir string, meta *corepb.MetaGraphDef) (*transformGraph, error) {
	g := &transformGraph{dir: dir, meta: meta}
	if err := g.findFunction(); err != nil {
		return nil, err
	}
	return g, g.checkCounts()
}

// findFunction finds the root's child transform_fn and reads what goes into it and comes out.
func (g *transformGraph) findFunction() error {
	tree := objects{nodes: g.meta.GetObjectGraphDef().GetNodes()}
	if len(tree.nodes) == 0 {
		return errors.New("no object graph: graphs made with force_tf_compat_v1 can't be read")
	}
	id, ok := tree.find(rootObject, "transform_fn")
	if !ok || int(id) >= len(tree.nodes) || id < 0 {
		return errors.New("object graph has no transform_fn")
	}
	name := tree.nodes[id].GetBareConcreteFunction().GetConcreteFunctionName()
	if names := tree.nodes[id].GetFunction().GetConcreteFunctions(); len(names) == 1 {
		name = names[0]
	}
	concrete, ok := g.meta.GetObjectGraphDef().GetConcreteFunctions()[name]
	if !ok {
		return fmt.Errorf("object transform_fn is no function with one trace")
	}
	library := g.meta.GetGraphDef().GetLibrary().GetFunction()
	i := slices.IndexFunc(library, func(f *functionpb.FunctionDef) bool { return f.GetSignature().GetName() == name })
	if i < 0 {
		return fmt.Errorf("function %s isn't in the library", name)
	}
	g.function, g.bound = library[i], concrete.GetBoundInputs()
	return g.readSignature(concrete)
}

func (g *transformGraph) readSignature(concrete *corepb.SavedConcreteFunction) error {
	for _, named := range sortedFields(firstArgument(concrete.GetCanonicalizedInputSignature())) {
		ft, err := specFeature(named.value)
		if err != nil {
			return fmt.Errorf("feature %q: %w", named.key, err)
		}
		ft.name = named.key
		g.inputs = append(g.inputs, ft)
	}
	at := 0
	for _, named := range sortedFields(concrete.GetOutputSignature()) {
		out := transformOutput{first: at}
		if spec := named.value.GetTensorSpecValue(); spec != nil {
			out.tensorSpec, out.dense = denseSpec(spec), true
		}
		out.key = named.key
		g.outputs = append(g.outputs, out)
		at += components(named.value)
	}
	return nil
}

// checkCounts makes sure that names and positions can't be off by one.
func (g *transformGraph) checkCounts() error {
	in := len(g.bound)
	for _, ft := range g.inputs {
		in += ft.tensors()
	}
	signature := g.function.GetSignature()
	if have := len(signature.GetInputArg()); have != in {
		return fmt.Errorf("function takes %d tensors, its %d features and %d captures are %d", have, len(g.inputs), len(g.bound), in)
	}
	out := 0
	for _, o := range g.outputs {
		out = max(out, o.first+1)
	}
	if have := len(signature.GetOutputArg()); have < out || len(g.outputs) == 0 {
		return fmt.Errorf("function gives %d tensors, its %d features need more", have, len(g.outputs))
	}
	return nil
}

// tensors is how many arguments a feature takes: a sparse one has indices, values and shape.
func (ft feature) tensors() int {
	if ft.sparse {
		return 3
	}
	return 1
}
