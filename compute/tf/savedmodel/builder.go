package savedmodel

import (
	"fmt"
	"slices"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// The signature and the collection that name the node to run after restoring, which fills tables.
const (
	initSignature  = "__saved_model_init_op"
	initCollection = "saved_model_main_op"
)

// builder collects the parts of a SavedModel.
type builder struct {
	model Model
	eval  bool               // for model analysis, not for serving
	types map[string]nn.Type // of the model's graph

	top        *topGraph
	functions  []*function
	objects    *objects
	signatures map[string]*corepb.SignatureDef
	inits      []string // top nodes that must run before the first request

	params map[string]capture
	tables map[string]capture
	saved  []saved
	stored []tensorbundle.Entry
	assets []asset

	transform *transform // nil without a transform graph
	number    int64      // the highest number at the end of a function's name
}

func newBuilder(m Model) (*builder, error) {
	types, err := m.Graph.Types()
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	if len(m.Graph.Outputs) == 0 {
		return nil, fmt.Errorf("graph has no outputs: there is nothing to serve")
	}
	return &builder{
		model: m, types: types, top: newTopGraph(), objects: newObjects(),
		signatures: map[string]*corepb.SignatureDef{},
	}, nil
}

// build makes the parts, each after those that it needs.
func (b *builder) build() error {
	if err := b.addVariables(b.model.Graph.Params); err != nil {
		return err
	}
	if dir := b.model.TransformGraph; dir != "" {
		g, err := readTransformGraph(dir)
		if err == nil {
			err = b.addTransform(g)
		}
		if err != nil {
			return fmt.Errorf("transform graph %s: %w", dir, err)
		}
	}
	b.addTables(b.model.Graph.Nodes)
	if err := b.addServing(); err != nil {
		return fmt.Errorf("signature serving_default: %w", err)
	}
	if err := b.addTensors(); err != nil {
		return fmt.Errorf("signature predict_tensors: %w", err)
	}
	return nil
}

// examplesInput is the one input that TensorFlow Serving, TFMA and InfraValidator send.
var examplesInput = tensorSpec{key: "examples", dtype: stringType, shape: []int{-1}}

// addTransform grafts the transform graph and adds the signature that returns the transformed
// features of examples.
func (b *builder) addTransform(g *transformGraph) (err error) {
	g.relax(b.model)
	if b.eval {
		g.require(b.model.Labels)
	}
	if b.transform, err = b.graft(g); err != nil {
		return err
	}
	for name := range b.objects.functions {
		_, number, _ := cutNumber(name)
		b.number = max(b.number, number)
	}
	if !slices.ContainsFunc(g.outputs, func(o transformOutput) bool { return o.dense }) {
		return nil
	}
	b.addTransformed("transform_features")
	if b.eval {
		b.addTransformed(analysisFeatures)
	}
	return nil
}

// addTransformed adds a signature that returns the dense transformed features.
func (b *builder) addTransformed(key string) {
	s := b.newSignature(key)
	values := s.transformed(b.transform, s.takes([]tensorSpec{examplesInput})["examples"])
	var specs []tensorSpec
	for _, out := range b.transform.outputs {
		if out.dense {
			specs = append(specs, out.tensorSpec)
		}
	}
	s.gives(specs, values)
	b.addSignature(s)
}

func (b *builder) addServing() error {
	s := b.newSignature("serving_default")
	examples := s.takes([]tensorSpec{examplesInput})["examples"]
	inputs, err := b.exampleInputs(s, examples)
	if err != nil {
		return err
	}
	if classes := b.model.Classes; b.eval && len(classes) > 0 {
		return b.addPrediction(s, inputs, s.allClasses(examples, classes))
	}
	return b.addPrediction(s, inputs)
}

// numbered ends a function's name with a number that no other function of the model has, as
// fingerprints require.
func (b *builder) numbered(name string) string {
	b.number++
	return fmt.Sprintf("%s%s_%d", functionPrefix, name, b.number)
}

// exampleInputs makes the graph's inputs from serialized examples.
func (b *builder) exampleInputs(s *signature, examples edge) (map[string]edge, error) {
	if b.transform == nil {
		return s.rawInputs(b.model, examples)
	}
	return s.transformedInputs(b.transform, s.transformed(b.transform, examples), b.model.Graph.Inputs)
}

// addTensors adds the signature that takes the graph's inputs as they are.
func (b *builder) addTensors() error {
	s := b.newSignature("predict_tensors")
	var specs []tensorSpec
	keys, taken := map[string]string{}, map[string]bool{}
	for _, in := range b.model.Graph.Inputs {
		keys[in.Name] = uniqueName(taken, Keyword(in.Name))
		specs = append(specs, tensorSpec{key: keys[in.Name], dtype: dtypeOf(in.Kind), shape: []int{-1, in.Width}})
	}
	args := s.takes(specs)
	inputs := map[string]edge{}
	for name, key := range keys {
		inputs[name] = args[key]
	}
	return b.addPrediction(s, inputs)
}

// result is an output of a signature that doesn't come from the graph.
type result struct {
	tensorSpec
	value edge
}

// addPrediction ends a signature with the forward pass from the graph's inputs to its outputs.
func (b *builder) addPrediction(s *signature, inputs map[string]edge, more ...result) error {
	w := &forward{function: s.function, types: b.types, params: b.params, tables: b.tables, values: inputs}
	if err := w.write(b.model.Graph.Nodes); err != nil {
		return err
	}
	var specs []tensorSpec
	values := map[string]edge{}
	for _, out := range b.model.Graph.Outputs {
		spec := tensorSpec{key: out.Name, dtype: dtypeOf(b.types[out.Node].Kind), shape: []int{-1, out.Width}}
		specs = append(specs, spec)
		values[out.Name] = w.values[out.Node]
	}
	for _, r := range more {
		if values[r.key] != "" {
			return fmt.Errorf("output %q: the name is taken", r.key)
		}
		specs = append(specs, r.tensorSpec)
		values[r.key] = r.value
	}
	s.gives(specs, values)
	b.addSignature(s)
	return nil
}

// finish completes the model with the saver, the init op and the object graph. Nothing may be added
// after it.
func (b *builder) finish() (*corepb.SavedModel, error) {
	objects, err := marshal(b.objects.checkpoint())
	if err != nil {
		return nil, err
	}
	saver, initAll := b.addSaver(objects), b.addInit()
	b.stored = append(b.stored, tensorbundle.Entry{Key: tensorbundle.ObjectGraphKey, Value: tensor.Scalar(string(objects))})
	meta := &corepb.MetaGraphDef{
		MetaInfoDef: &corepb.MetaGraphDef_MetaInfoDef{
			Tags: []string{"serve"}, TensorflowVersion: "2.16.2", StrippedDefaultAttrs: true,
		},
		GraphDef: b.top.def(b.functions), SaverDef: saver, SignatureDef: b.signatures, ObjectGraphDef: b.objects.def(),
		CollectionDef: map[string]*corepb.CollectionDef{initCollection: nodeList(initAll)},
	}
	for _, a := range b.assets {
		meta.AssetFileDef = append(meta.AssetFileDef, a.def)
	}
	return &corepb.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: []*corepb.MetaGraphDef{meta}}, nil
}

// addInit adds the node that runs after all initializers and returns its name.
func (b *builder) addInit() string {
	var after []string
	for _, name := range b.inits {
		after = append(after, "^"+name)
	}
	all := b.top.node("NoOp", "init_all", nil, after...)
	info := tensorInfo(all, tensorSpec{})
	b.signatures[initSignature] = &corepb.SignatureDef{Outputs: map[string]*corepb.TensorInfo{initSignature: info}}
	return all
}

func nodeList(names ...string) *corepb.CollectionDef {
	return &corepb.CollectionDef{Kind: &corepb.CollectionDef_NodeList_{NodeList: &corepb.CollectionDef_NodeList{Value: names}}}
}
