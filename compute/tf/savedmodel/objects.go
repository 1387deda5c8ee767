package savedmodel

import (
	versionpb "github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// The first two objects of every graph.
const (
	rootObject      = 0
	signatureObject = 1
)

type (
	reference        = corepb.TrackableObjectGraph_TrackableObject_ObjectReference
	trackableObject  = corepb.TrackableObjectGraph_TrackableObject
	serializedTensor = corepb.TrackableObjectGraph_TrackableObject_SerializedTensor
)

// objects is the object graph, from which tf.saved_model.load makes Python objects. An object's
// number is its index.
type objects struct {
	nodes     []*corepb.SavedObject
	functions map[string]*corepb.SavedConcreteFunction
	values    map[int32]*serializedTensor // by variable: its value in the checkpoint
}

func newObjects() *objects {
	o := &objects{functions: map[string]*corepb.SavedConcreteFunction{}, values: map[int32]*serializedTensor{}}
	o.add(userObject("_generic_user_object"))
	o.child(rootObject, o.add(userObject("signature_map")), "signatures")
	return o
}

func (o *objects) add(object *corepb.SavedObject) int32 {
	o.nodes = append(o.nodes, object)
	return int32(len(o.nodes) - 1)
}

func (o *objects) child(parent, id int32, name string) {
	node := o.nodes[parent]
	node.Children = append(node.Children, &reference{NodeId: id, LocalName: name})
}

// find returns the child of that name.
func (o *objects) find(parent int32, name string) (int32, bool) {
	for _, c := range o.nodes[parent].GetChildren() {
		if c.GetLocalName() == name {
			return c.GetNodeId(), true
		}
	}
	return 0, false
}

func userObject(identifier string) *corepb.SavedObject {
	return &corepb.SavedObject{Kind: &corepb.SavedObject_UserObject{UserObject: &corepb.SavedUserObject{
		Identifier: identifier, Version: &versionpb.VersionDef{Producer: 1, MinConsumer: 1},
	}}}
}

// bareFunction adds a concrete function that can be called by keyword.
func (o *objects) bareFunction(f *function, inputs, outputs []tensorSpec) int32 {
	name := f.def.GetSignature().GetName()
	bare := &corepb.SavedBareConcreteFunction{ConcreteFunctionName: name}
	for _, in := range inputs {
		bare.ArgumentKeywords = append(bare.ArgumentKeywords, in.key)
	}
	if len(inputs) == 1 {
		bare.AllowedPositionalArguments = 1
	}
	o.functions[name] = concreteFunction(f, keywordSignature(inputs), specDict(outputs))
	return o.add(&corepb.SavedObject{Kind: &corepb.SavedObject_BareConcreteFunction{BareConcreteFunction: bare}})
}

// tracedFunction adds a tf.function without arguments that was traced once, as f.
func (o *objects) tracedFunction(f *function, result tensorSpec) int32 {
	name := f.def.GetSignature().GetName()
	o.functions[name] = concreteFunction(f, keywordSignature(nil), result.structured())
	return o.add(&corepb.SavedObject{Kind: &corepb.SavedObject_Function{Function: &corepb.SavedFunction{
		ConcreteFunctions: []string{name}, FunctionSpec: noArguments(),
	}}})
}

func concreteFunction(f *function, inputs, outputs *corepb.StructuredValue) *corepb.SavedConcreteFunction {
	concrete := &corepb.SavedConcreteFunction{CanonicalizedInputSignature: inputs, OutputSignature: outputs}
	for _, c := range f.captures {
		concrete.BoundInputs = append(concrete.BoundInputs, c.object)
	}
	return concrete
}

func (o *objects) def() *corepb.SavedObjectGraph {
	return &corepb.SavedObjectGraph{Nodes: o.nodes, ConcreteFunctions: o.functions}
}

// checkpoint returns the same tree, with the same numbers, in the form of the checkpoint: with the
// keys of the values.
func (o *objects) checkpoint() *corepb.TrackableObjectGraph {
	graph := &corepb.TrackableObjectGraph{}
	for id, node := range o.nodes {
		object := &trackableObject{Children: node.GetChildren(), SlotVariables: node.GetSlotVariables()}
		if value, ok := o.values[int32(id)]; ok {
			object.Attributes = []*serializedTensor{value}
		}
		graph.Nodes = append(graph.Nodes, object)
	}
	return graph
}
