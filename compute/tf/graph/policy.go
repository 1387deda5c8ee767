package graph

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/ops"
)

// Policy determines which ops a graph may have that TensorFlow, or a model server, is to execute.
// Graphs are programs: ReadFile and WriteFile read and write any file of the process, PyFunc runs
// Python. There is a list of allowed ops: those of mathematics, arrays, strings, control flow,
// variables and tables; an op that isn't known is refused.
//
// A few ops access files and are allowed for one purpose:
//
//   - RestoreV2, SaveV2 and MergeV2Checkpoints, where nothing but the saver of the SavedModel runs
//     them, RestoreV2 reads the path that the loader feeds, and the other two are run only to save,
//     never to restore;
//   - InitializeTableFromTextFile, its V2 and TFRecordDataset, where the path is that of an asset
//     in the model's own folder;
//   - PrintV2, to the process's own output.
//
// The check refuses everything that TensorFlow might read differently: names that stand for two
// functions or nodes, attributes of other kinds than types and shapes that a call sets
// (placeholders), and strings in tensor_content.
//
// The policy covers only graphs. Python code that Keras keeps in a model (Lambda layers) isn't
// checked.
type Policy struct {
	Extra []string // further ops that the operator allows
	// The end of the error: how the operator allows one; "" is a sentence that names Policy.Extra.
	Help string
}

// ErrOps is in the chain of the error of CheckOps.
var ErrOps = errors.New("ops that are not allowed")

// OpsError lists the nodes that a Policy refuses.
type OpsError struct {
	Dir     string
	Refused []Refusal
	help    string
}

// Refusal is a node that is refused.
type Refusal struct {
	Tags     []string // of the graph in the SavedModel
	Function string   // "" for the graph itself
	Node, Op string
	Why      string
}

func (r Refusal) String() string {
	where := "the graph"
	if r.Function != "" {
		where = fmt.Sprintf("function %.200q", r.Function)
	}
	return fmt.Sprintf("%s, node %.200q: op %.100q %s", where, r.Node, r.Op, r.Why)
}

// mostRefusals limits the nodes that an error names.
const mostRefusals = 10

func (e *OpsError) Error() string {
	var list []string
	for _, r := range e.Refused[:min(len(e.Refused), mostRefusals)] {
		list = append(list, r.String())
	}
	if more := len(e.Refused) - mostRefusals; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s: %v: %s; %s", filepath.Join(e.Dir, modelFile), ErrOps, strings.Join(list, "; "), e.help)
}

func (e *OpsError) Unwrap() error { return ErrOps }

// modelFile is the file of a SavedModel that is read.
const modelFile = "saved_model.pb"

// otherModelFiles are files that TensorFlow may read instead of saved_model.pb.
var otherModelFiles = []string{"saved_model.cpb", "saved_model.pbtxt"}

// CheckOps walks all graphs of the SavedModel in m.Dir, with all functions of their libraries,
// reached or not, and returns an *OpsError that names file, function, node and op of each node that
// the policy refuses. It refuses assets outside of the model's directory, and a directory with a
// second file of graphs that a loader may take for the first.
func (m *Model) CheckOps(policy Policy) error {
	for _, name := range otherModelFiles {
		if _, err := os.Lstat(filepath.Join(m.Dir, name)); err == nil {
			return fmt.Errorf("%s: %w: %s is next to %s, and may be loaded in its place", m.Dir, ErrOps, name, modelFile)
		}
	}
	extra := map[string]bool{}
	for _, op := range policy.Extra {
		extra[op] = true
	}
	e := &OpsError{Dir: m.Dir, help: cmp.Or(policy.Help, "remove them from the graph, or allow them in Policy.Extra if who made the graph is trusted")}
	for _, meta := range m.graphs {
		c := newOpsCheck(meta, extra)
		refused, err := c.run()
		if err != nil {
			return fmt.Errorf("%s: %w: %w", filepath.Join(m.Dir, modelFile), ErrOps, err)
		}
		e.Refused = append(e.Refused, refused...)
	}
	if len(e.Refused) > 0 {
		return e
	}
	return nil
}

// opsCheck checks one graph.
type opsCheck struct {
	meta   *corepb.MetaGraphDef
	extra  map[string]bool
	bodies map[string]*body // by function; "" is the graph itself
	names  []string         // of bodies, in their order
	calls  map[string][]callSite
	takers map[string][]*nodepb.NodeDef // nodes of the graph, by a node that they take
	assets map[string]bool              // nodes of the graph with the paths of assets
	files  map[string]bool              // names of assets
	saved  map[nodeAt]bool              // what the saver runs to save
	// The nodes that the saver runs to restore, while a model is loaded.
	loaded map[nodeAt]bool
	served map[nodeAt]bool // what anything else runs
	public map[string]bool // functions that objects of the model name
	open   map[string]bool // functions that TensorFlow may call with any arguments
	// What a request or the saver runs, without the path of an asset being replaced.
	asked map[nodeAt]bool
}

// body is the nodes of a function, or of the graph itself.
type body struct {
	function string
	args     map[string]int // of a function
	argNames []string
	attrs    map[string]string // types of the function's attributes, by name
	nodes    map[string]*nodepb.NodeDef
	list     []*nodepb.NodeDef
}

// nodeAt is a node of a body.
type nodeAt struct{ function, node string }

// callSite is a node that names a function.
type callSite struct {
	in   *body
	node *nodepb.NodeDef
}

func newOpsCheck(meta *corepb.MetaGraphDef, extra map[string]bool) *opsCheck {
	c := &opsCheck{
		meta: meta, extra: extra, bodies: map[string]*body{}, calls: map[string][]callSite{}, assets: map[string]bool{}, files: map[string]bool{},
		takers: map[string][]*nodepb.NodeDef{},
	}
	for _, n := range meta.GetGraphDef().GetNode() {
		for _, in := range dataInputs(n.GetInput()) {
			c.takers[nodeOf(in)] = append(c.takers[nodeOf(in)], n)
		}
	}
	c.add("", meta.GetGraphDef().GetNode(), nil, nil)
	for _, f := range meta.GetGraphDef().GetLibrary().GetFunction() {
		var args []string
		for _, a := range f.GetSignature().GetInputArg() {
			args = append(args, a.GetName())
		}
		types := map[string]string{}
		for _, a := range f.GetSignature().GetAttr() {
			types[a.GetName()] += a.GetType() // two of one name have no type that is known
		}
		c.add(f.GetSignature().GetName(), f.GetNodeDef(), args, types)
	}
	for _, name := range c.names {
		b := c.bodies[name]
		for _, n := range b.list {
			for _, called := range c.functionsOf(n) {
				c.calls[called] = append(c.calls[called], callSite{b, n})
			}
		}
	}
	return c
}

func (c *opsCheck) add(function string, nodes []*nodepb.NodeDef, args []string, attrs map[string]string) {
	b := &body{function: function, list: nodes, argNames: args, args: map[string]int{}, attrs: attrs, nodes: make(map[string]*nodepb.NodeDef, len(nodes))}
	for i, a := range args {
		b.args[a] = i
	}
	for _, n := range nodes {
		b.nodes[n.GetName()] = n
	}
	c.bodies[function] = b
	c.names = append(c.names, function)
}

// functionsOf returns the functions that a node names, in any attribute or as its op.
func (c *opsCheck) functionsOf(n *nodepb.NodeDef) []string {
	var list []string
	if _, ok := c.bodies[n.GetOp()]; ok && n.GetOp() != "" {
		list = append(list, n.GetOp())
	}
	for _, a := range n.GetAttr() {
		list = appendFunctions(list, a, 0)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// appendFunctions adds the functions of an attribute, and those of its own attributes.
func appendFunctions(list []string, a *attrpb.AttrValue, depth int) []string {
	all := a.GetList().GetFunc()
	if f := a.GetFunc(); f != nil {
		all = append(slices.Clone(all), f)
	}
	for _, f := range all {
		list = append(list, f.GetName())
		for _, inner := range f.GetAttr() {
			if depth < maxCalls {
				list = appendFunctions(list, inner, depth+1)
			}
		}
	}
	return list
}

// run checks each node.
func (c *opsCheck) run() ([]Refusal, error) {
	if err := errors.Join(c.checkNames(), c.findAssets()); err != nil {
		return nil, err
	}
	save, restore := c.saverRoots()
	c.saved, c.loaded = c.reach(save), c.reach(restore)
	c.findCallable()
	c.served, c.asked = c.reach(c.servedRoots()), c.reach(slices.Concat(c.signatureRoots(), save, restore))
	var refused []Refusal
	for _, name := range c.names {
		b := c.bodies[name]
		for _, n := range b.list {
			if why := c.refuses(b, n); why != "" {
				refused = append(refused, Refusal{c.meta.GetMetaInfoDef().GetTags(), name, n.GetName(), n.GetOp(), why})
			}
		}
	}
	return refused, nil
}

// checkNames refuses names that stand for more than one function or node. TensorFlow and this check
// might choose different ones.
func (c *opsCheck) checkNames() error {
	seen := map[string]bool{}
	for i, f := range c.meta.GetGraphDef().GetLibrary().GetFunction() {
		switch name := f.GetSignature().GetName(); {
		case name == "":
			return fmt.Errorf("function %d of the library has no name", i)
		case seen[name]:
			return fmt.Errorf("the library has two functions of the name %.200q", name)
		case pureOps[name] || reservedOps[name]:
			return fmt.Errorf("function %.200q has the name of an op", name)
		default:
			seen[name] = true
		}
	}
	for _, name := range c.names {
		b := c.bodies[name]
		if len(b.nodes) != len(b.list) || len(b.args) != len(b.argNames) {
			return fmt.Errorf("two nodes or two arguments of function %.200q have the same name", name)
		}
		for _, arg := range b.argNames {
			if b.nodes[arg] != nil {
				return fmt.Errorf("function %.200q: argument %.200q has the name of a node", name, arg)
			}
		}
	}
	return nil
}

// reservedOps are the ops outside of pureOps that CheckOps handles by name.
var reservedOps = map[string]bool{
	"InitializeTableFromTextFile": true, "InitializeTableFromTextFileV2": true, "MergeV2Checkpoints": true, "PrintV2": true,
	"RestoreV2": true, "SaveV2": true, "ShardedFilename": true, "ShardedFilespec": true, "TFRecordDataset": true,
}

// findAssets finds the nodes whose values the loader replaces by the paths of assets.
func (c *opsCheck) findAssets() error {
	m := &Model{Meta: c.meta}
	if err := m.findAssets(); err != nil {
		return err
	}
	for i, a := range m.assets {
		if _, err := m.assetPath(i); err != nil {
			return err
		}
		if name := a.GetTensorInfo().GetName(); firstOutput(name) {
			c.assets[nodeOf(name)] = true
		}
		c.files[path.Base(a.GetFilename())] = true
	}
	return nil
}

// temporaryFolder is the directory in which tf.Transform makes vocabularies, before they are
// assets. The graph keeps that path for those that are files of records.
const temporaryFolder = "tftransform_tmp"

// temporary reports whether a node of the graph is the local path that an asset had when
// tf.Transform made it. A path of another file system is refused: TensorFlow would open a
// connection.
func (c *opsCheck) temporary(node string) bool {
	n := c.bodies[""].nodes[node]
	text := n.GetAttr()["value"].GetTensor().GetStringVal()
	if n.GetOp() != "Const" || len(text) != 1 {
		return false
	}
	dir, file := path.Split(string(text[0]))
	return path.Base(dir) == temporaryFolder && c.files[file] && !strings.Contains(dir, "://")
}

const notListed = "is not in the list of allowed ops, and may read or write files, run code or use the network"

// refuses returns why a node is refused; "" if it isn't.
func (c *opsCheck) refuses(b *body, n *nodepb.NodeDef) string {
	for _, a := range n.GetAttr() {
		if why := refusesAttr(b, a, 0); why != "" {
			return why
		}
	}
	op := n.GetOp()
	if c.extra[op] || pureOps[op] {
		return ""
	}
	switch op {
	case "RestoreV2", "SaveV2", "MergeV2Checkpoints":
		return c.refusesSaver(b, n)
	case "InitializeTableFromTextFile", "InitializeTableFromTextFileV2":
		return c.wantsAsset(b, n, 1)
	case "TFRecordDataset":
		return c.wantsAsset(b, n, 0)
	case "PrintV2":
		if stream := string(n.GetAttr()["output_stream"].GetS()); stream != "" && !slices.Contains(ownStreams, stream) {
			return "prints to what is not the process's own output"
		}
		return ""
	case "ShardedFilename", "ShardedFilespec":
		return "" // only makes a name
	}
	if _, known := ops.Find(op); known {
		return ""
	}
	if _, ok := c.bodies[op]; ok && op != "" {
		// A call of a function, as TensorFlow 1 writes it; checkNames refuses a function with the
		// name of an op.
		return ""
	}
	return notListed
}

// refusesAttr returns why an attribute is refused; "" if it isn't. It refuses attributes whose
// value in TensorFlow might differ from the one that is checked. A placeholder represents an
// attribute of the function, which each call sets: only types and shapes may be placeholders.
func refusesAttr(b *body, a *attrpb.AttrValue, depth int) string {
	if depth >= maxCalls {
		return "has attributes that are nested too deep"
	}
	switch v := a.GetValue().(type) {
	case *attrpb.AttrValue_Placeholder:
		switch b.attrs[v.Placeholder] {
		case "type", "list(type)", "shape", "list(shape)":
		default:
			return fmt.Sprintf("has an attribute whose value is the placeholder %.100q, and no type or shape", v.Placeholder)
		}
	case *attrpb.AttrValue_Tensor:
		return refusesTensor(v.Tensor)
	case *attrpb.AttrValue_Func:
		return refusesAttrsOf(b, v.Func, depth)
	case *attrpb.AttrValue_List:
		for _, tensor := range v.List.GetTensor() {
			if why := refusesTensor(tensor); why != "" {
				return why
			}
		}
		for _, f := range v.List.GetFunc() {
			if why := refusesAttrsOf(b, f, depth); why != "" {
				return why
			}
		}
	}
	return ""
}

// refusesTensor refuses strings that are packed: TensorFlow takes tensor_content before string_val,
// which is what this check reads, and writers of SavedModels use string_val.
func refusesTensor(tensor *tensorpb.TensorProto) string {
	if tensor.GetDtype() == typepb.DataType_DT_STRING && len(tensor.GetTensorContent()) > 0 {
		return "has strings in tensor_content, and not in string_val"
	}
	return ""
}

// refusesAttrsOf is refusesAttr for the attributes that are given to a function.
func refusesAttrsOf(b *body, f *attrpb.NameAttrList, depth int) string {
	for _, a := range f.GetAttr() {
		if why := refusesAttr(b, a, depth+1); why != "" {
			return why
		}
	}
	return ""
}

// ownStreams are the streams of PrintV2 that are no files: tensorflow/core/kernels/logging_ops.cc.
var ownStreams = []string{"stdout", "stderr", "log(info)", "log(warning)", "log(error)"}

// refusesSaver allows the saver's own ops: a loader runs those that restore, with the path of the
// model's variables, and nothing runs those that save. A node of the graph that no root reaches is
// never run: graphs of TensorFlow 1 contain the ops of the savers of their training.
func (c *opsCheck) refusesSaver(b *body, n *nodepb.NodeDef) string {
	at := nodeAt{b.function, n.GetName()}
	switch {
	case c.served[at]:
		return "reads or writes checkpoints, and is run by more than the model's saver"
	case n.GetOp() != "RestoreV2" && c.loaded[at]:
		return "writes files, and is run when the model is restored"
	case n.GetOp() == "RestoreV2" && (c.saved[at] || c.loaded[at]):
		saverFile := c.meta.GetSaverDef().GetFilenameTensorName()
		filename := nodeOf(saverFile)
		f := &flow{opsCheck: c, isSource: func(node string) bool { return node == filename && filename != "" && firstOutput(saverFile) }, seen: map[string]bool{}}
		if inputs := dataInputs(n.GetInput()); len(inputs) == 0 || !f.derives(b, inputs[0]) {
			return "restores from a path that isn't that of the model's variables"
		}
	}
	return ""
}

// wantsAsset allows a path that is an asset's. Loaders set it while the model is initialized, and
// only then.
func (c *opsCheck) wantsAsset(b *body, n *nodepb.NodeDef, input int) string {
	f := &flow{
		opsCheck: c, isSource: func(node string) bool { return c.assets[node] || c.temporary(node) }, objects: true,
		asked: c.asked[nodeAt{b.function, n.GetName()}], seen: map[string]bool{},
	}
	if inputs := dataInputs(n.GetInput()); len(inputs) <= input || !f.derives(b, inputs[input]) {
		return "reads a file that isn't an asset of the model"
	}
	return ""
}
