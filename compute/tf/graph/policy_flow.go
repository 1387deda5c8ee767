package graph

import (
	"maps"
	"slices"
	"strings"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	variablepb "github.com/wamuir/graft/tensorflow/core/framework/variable_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// root is a node of the graph that is run, or a function that is called.
type root struct{ node, function string }

// saverRoots returns the nodes and functions that the model's saver runs to save, and to restore.
func (c *opsCheck) saverRoots() (save, restore []root) {
	saver := c.meta.GetSaverDef()
	return []root{{node: nodeOf(saver.GetSaveTensorName())}}, []root{{node: nodeOf(saver.GetRestoreOpName())}}
}

// signatureRoots returns the outputs of signatures.
func (c *opsCheck) signatureRoots() []root {
	var roots []root
	for name, signature := range c.meta.GetSignatureDef() {
		if name == initSignature {
			continue
		}
		for _, info := range signature.GetOutputs() {
			for _, tensor := range tensorsOf(info) {
				roots = append(roots, root{node: nodeOf(tensor)})
			}
		}
	}
	return roots
}

// servedRoots returns everything that may run except in the saver: signatures, initializers, and
// all functions except the saver's own.
func (c *opsCheck) servedRoots() []root {
	roots := c.signatureRoots()
	for _, info := range c.meta.GetSignatureDef()[initSignature].GetOutputs() {
		roots = append(roots, root{node: nodeOf(info.GetName())})
	}
	for _, collection := range c.meta.GetCollectionDef() {
		for _, reference := range collection.GetNodeList().GetValue() {
			roots = append(roots, root{node: nodeOf(reference)})
		}
		for _, data := range collection.GetBytesList().GetValue() {
			// A loader initializes local variables; other messages name no nodes.
			v := new(variablepb.VariableDef)
			if proto.Unmarshal(data, v) == nil {
				for _, reference := range []string{v.GetVariableName(), v.GetInitialValueName(), v.GetInitializerName(), v.GetSnapshotName()} {
					roots = append(roots, root{node: nodeOf(reference)})
				}
			}
		}
	}
	saver := map[string]bool{}
	for _, reached := range []map[nodeAt]bool{c.saved, c.loaded} {
		for at := range reached {
			saver[at.function] = true
		}
	}
	// Any function of the library may be run: loaders make objects callable, optimizers exchange
	// functions. Only those that the saver calls and that aren't named elsewhere are the saver's
	// own: exports of TensorFlow 2 save and restore in functions.
	for _, function := range c.names {
		if function != "" && (!saver[function] || c.public[function] || c.open[function]) {
			roots = append(roots, root{function: function})
		}
	}
	return roots
}

// findCallable finds the functions that something other than a node calls. Objects call theirs with
// the inputs that are bound to them. TensorFlow calls the gradients of functions, and exchanges
// functions that implement the same interface, which attributes of functions and nodes name as
// strings.
func (c *opsCheck) findCallable() {
	c.public, c.open = map[string]bool{}, map[string]bool{}
	objects := c.meta.GetObjectGraphDef()
	for function := range objects.GetConcreteFunctions() {
		c.public[function] = true
	}
	for _, object := range objects.GetNodes() {
		c.public[object.GetBareConcreteFunction().GetConcreteFunctionName()] = true
		for _, function := range object.GetFunction().GetConcreteFunctions() {
			c.public[function] = true
		}
	}
	library := c.meta.GetGraphDef().GetLibrary()
	for _, g := range library.GetGradient() {
		c.open[g.GetGradientFunc()] = true
	}
	for _, g := range library.GetRegisteredGradients() {
		c.open[g.GetGradientFunc()] = true
	}
	for _, f := range library.GetFunction() {
		if f.GetAttr()["api_implements"] != nil {
			c.open[f.GetSignature().GetName()] = true
		}
		for _, a := range f.GetAttr() {
			for _, function := range appendFunctions(nil, a, 0) {
				c.open[function] = true
			}
			c.openText(a)
		}
	}
	for _, name := range c.names {
		for _, n := range c.bodies[name].list {
			for _, a := range n.GetAttr() {
				c.openText(a)
			}
		}
	}
}

// openText marks the functions whose names are strings of an attribute.
func (c *opsCheck) openText(a *attrpb.AttrValue) {
	for _, text := range slices.Concat(a.GetList().GetS(), [][]byte{a.GetS()}) {
		if function := string(text); function != "" && c.bodies[function] != nil {
			c.open[function] = true
		}
	}
}

// tensorsOf returns the tensors of an output.
func tensorsOf(info *corepb.TensorInfo) []string {
	sparse := info.GetCooSparse()
	list := []string{info.GetName(), sparse.GetIndicesTensorName(), sparse.GetValuesTensorName(), sparse.GetDenseShapeTensorName()}
	for _, part := range info.GetCompositeTensor().GetComponents() {
		list = append(list, part.GetName())
	}
	return slices.DeleteFunc(list, func(t string) bool { return t == "" })
}

// reach returns the nodes that the roots need, by data and by control; all nodes of a named
// function.
func (c *opsCheck) reach(roots []root) map[nodeAt]bool {
	reached, functions := map[nodeAt]bool{}, map[string]bool{}
	var open []nodeAt
	visit := func(at nodeAt) {
		if b := c.bodies[at.function]; b != nil && b.nodes[at.node] != nil && !reached[at] {
			reached[at] = true
			open = append(open, at)
		}
	}
	call := func(function string) {
		if b := c.bodies[function]; b != nil && !functions[function] {
			functions[function] = true
			for _, n := range b.list {
				visit(nodeAt{function, n.GetName()})
			}
		}
	}
	for _, r := range roots {
		if r.function != "" {
			call(r.function)
		} else if r.node != "" {
			visit(nodeAt{"", r.node})
		}
	}
	for len(open) > 0 {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		n := c.bodies[at.function].nodes[at.node]
		for _, in := range n.GetInput() {
			visit(nodeAt{at.function, nodeOf(in)})
		}
		for _, called := range c.functionsOf(n) {
			call(called)
		}
	}
	return reached
}

// flow follows a path back to its sources.
type flow struct {
	*opsCheck
	// Nodes of the graph whose first output the loader replaces while it initializes.
	isSource func(node string) bool
	objects  bool // objects that are assets are sources too
	asked    bool // it is a request, in which the loader replaces nothing
	seen     map[string]bool
}

// derives reports whether a tensor comes only from sources, directly, through a variable, as an
// argument of each call of the function, or as an element of a data set. An argument of a function
// without known calls may be anything.
func (f *flow) derives(b *body, reference string) bool {
	name := nodeOf(reference)
	key := b.function + "\x00" + name
	if f.seen[key] {
		return true // decided where it was found first
	}
	f.seen[key] = true
	n := b.nodes[name]
	if n == nil {
		i, ok := b.args[name]
		return ok && f.argument(b, i)
	}
	if b.function == "" && firstOutput(reference) && f.isSource(name) {
		return !f.asked
	}
	inputs := dataInputs(n.GetInput())
	if len(inputs) == 0 {
		return false
	}
	switch n.GetOp() {
	case "Identity", "ExpandDims", "Reshape", "Squeeze":
		return f.derives(b, inputs[0])
	case "TensorSliceDataset":
		return f.all(b, inputs)
	case "ReadVariableOp":
		return b.function == "" && f.variable(b, inputs[0])
	}
	return false
}

// firstOutput reports whether a tensor of the graph is the first of its node. A loader replaces
// only that tensor.
func firstOutput(reference string) bool {
	return reference == nodeOf(reference) || reference == nodeOf(reference)+":0"
}

func (f *flow) all(b *body, references []string) bool {
	return !slices.ContainsFunc(references, func(in string) bool { return !f.derives(b, in) })
}

// argument is like derives, for argument i of a function.
func (f *flow) argument(b *body, i int) bool {
	for _, site := range f.calls[b.function] {
		if !f.site(site, b.function, i) {
			return false
		}
	}
	if f.open[b.function] {
		return false
	}
	if !f.public[b.function] {
		return len(f.calls[b.function]) > 0
	}
	concrete := f.meta.GetObjectGraphDef().GetConcreteFunctions()[b.function]
	bound := concrete.GetBoundInputs()
	k := i - (len(b.argNames) - len(bound))
	objects := f.meta.GetObjectGraphDef().GetNodes()
	return f.objects && k >= 0 && k < len(bound) && bound[k] >= 0 && int(bound[k]) < len(objects) && objects[bound[k]].GetAsset() != nil
}

// site is like derives, for argument i at a node that names the function. The arguments of a loop
// are results of its body too, and those of a map are elements or other inputs.
func (f *flow) site(site callSite, function string, i int) bool {
	inputs, first := dataInputs(site.node.GetInput()), 0
	switch op := site.node.GetOp(); op {
	case "FlatMapDataset", "MapDataset":
		return f.all(site.in, inputs)
	case "If", "StatelessIf", "Case", "StatelessCase":
		first = 1
	case "PartitionedCall", "StatefulPartitionedCall":
	default:
		if op != function {
			return false
		}
	}
	return first+i < len(inputs) && f.derives(site.in, inputs[first+i])
}

// variable reports whether the value of a variable of the graph comes only from sources: only nodes
// of the graph set it, while the model is initialized.
func (f *flow) variable(b *body, handle string) bool {
	n := b.nodes[nodeOf(handle)]
	if n.GetOp() != "VarHandleOp" {
		return false
	}
	for _, name := range f.names {
		for _, other := range f.bodies[name].list {
			if other.GetOp() != "VarHandleOp" || sharedName(other) != sharedName(n) {
				continue
			}
			if name != "" || !f.handle(b, other.GetName()) {
				return false
			}
		}
	}
	return true
}

// handle checks all nodes that take the handle of a variable.
func (f *flow) handle(b *body, handle string) bool {
	initialised := &flow{opsCheck: f.opsCheck, isSource: f.isSource, objects: f.objects, seen: map[string]bool{}}
	for _, n := range f.takers[handle] {
		inputs := dataInputs(n.GetInput())
		switch n.GetOp() {
		case "ReadVariableOp", "VarIsInitializedOp", "DisableCopyOnRead":
		case "AssignVariableOp":
			if len(inputs) != 2 || f.opsCheck.asked[nodeAt{"", n.GetName()}] || !initialised.derives(b, inputs[1]) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// PureOps lists the ops that a Policy allows anywhere, sorted.
func PureOps() []string { return slices.SortedFunc(maps.Keys(pureOps), strings.Compare) }
