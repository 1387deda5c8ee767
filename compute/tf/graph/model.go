package graph

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// Model is a SavedModel as it was read: its graph for serving. It has not been executed, and only
// saved_model.pb has been read. It may be used by several goroutines at the same time, as long as
// Meta isn't changed.
type Model struct {
	Dir  string               // its directory, which contains assets and variables
	Meta *corepb.MetaGraphDef // the graph with the tag "serve", or the only one

	graphs  []*corepb.MetaGraphDef // all of the file
	assets  []*corepb.AssetFileDef
	objects []*corepb.SavedObject
	library map[string]*functionpb.FunctionDef
	top     map[string]*nodepb.NodeDef
}

// servingTag marks the graph to serve among those of a SavedModel.
const servingTag = "serve"

// Open reads the SavedModel in the folder dir.
func Open(dir string) (*Model, error) {
	data, err := read(dir)
	if err != nil {
		return nil, err
	}
	return Parse(dir, data)
}

// maxModelBytes limits the graph, which is read at once. Vocabularies and variables are in other
// files.
const maxModelBytes = 512 << 20

func read(dir string) ([]byte, error) {
	name := filepath.Join(dir, "saved_model.pb")
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("holds no saved_model.pb: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxModelBytes {
		return nil, fmt.Errorf("saved_model.pb has %d bytes, %d are read at most", info.Size(), maxModelBytes)
	}
	return os.ReadFile(name)
}

// Parse reads the bytes of saved_model.pb. dir is the directory of assets and variables.
func Parse(dir string, data []byte) (*Model, error) {
	var saved corepb.SavedModel
	if err := checkMessages(data, saved.ProtoReflect().Descriptor()); err != nil {
		return nil, fmt.Errorf("saved_model.pb is not read: %w", err)
	}
	if err := proto.Unmarshal(data, &saved); err != nil {
		return nil, fmt.Errorf("saved_model.pb does not parse: %w", err)
	}
	graphs := saved.GetMetaGraphs()
	i := slices.IndexFunc(graphs, func(g *corepb.MetaGraphDef) bool { return slices.Contains(g.GetMetaInfoDef().GetTags(), servingTag) })
	if i < 0 && len(graphs) == 1 {
		i = 0 // as tf.Transform wrote them with TensorFlow 1
	}
	if i < 0 {
		return nil, fmt.Errorf("saved_model.pb has %d graphs, none with the tag %q", len(graphs), servingTag)
	}
	m := &Model{
		Dir: dir, Meta: graphs[i], graphs: graphs, objects: graphs[i].GetObjectGraphDef().GetNodes(),
		library: map[string]*functionpb.FunctionDef{}, top: map[string]*nodepb.NodeDef{},
	}
	for _, def := range m.Meta.GetGraphDef().GetLibrary().GetFunction() {
		m.library[def.GetSignature().GetName()] = def
	}
	for _, node := range m.Meta.GetGraphDef().GetNode() {
		m.top[node.GetName()] = node
	}
	return m, m.findAssets()
}

// assetsCollection is the collection with TensorFlow 1's names of the assets.
const assetsCollection = "saved_model_assets"

func (m *Model) findAssets() error {
	m.assets = m.Meta.GetAssetFileDef()
	if len(m.assets) > 0 {
		return nil
	}
	for i, packed := range m.Meta.GetCollectionDef()[assetsCollection].GetAnyList().GetValue() {
		def := new(corepb.AssetFileDef)
		if err := packed.UnmarshalTo(def); err != nil {
			return fmt.Errorf("collection %s: asset %d: %w", assetsCollection, i, err)
		}
		m.assets = append(m.assets, def)
	}
	return nil
}

// Assets returns the files that the graph reads, each with the tensor that holds its path.
func (m *Model) Assets() []*corepb.AssetFileDef { return slices.Clone(m.assets) }

// Node returns the node of the top graph of that name, nil if there is none.
func (m *Model) Node(name string) *nodepb.NodeDef { return m.top[name] }

// child finds the object of that name below another.
func (m *Model) child(id int32, name string) (int32, bool) {
	children := m.objects[id].GetChildren()
	i := slices.IndexFunc(children, func(c *corepb.TrackableObjectGraph_TrackableObject_ObjectReference) bool {
		return c.GetLocalName() == name
	})
	if i < 0 {
		return 0, false
	}
	to := children[i].GetNodeId()
	return to, to >= 0 && int(to) < len(m.objects)
}

// children returns the objects below another by name, the first of each.
func (m *Model) children(id int32) map[string]int32 {
	list := m.objects[id].GetChildren()
	byName := make(map[string]int32, len(list))
	for _, c := range list {
		if _, known := byName[c.GetLocalName()]; !known {
			byName[c.GetLocalName()] = c.GetNodeId()
		}
	}
	maps.DeleteFunc(byName, func(_ string, to int32) bool { return to < 0 || int(to) >= len(m.objects) })
	return byName
}

// traced returns the function behind an object that is a function traced once.
func (m *Model) traced(id int32) (*functionpb.FunctionDef, *corepb.SavedConcreteFunction, error) {
	name := m.objects[id].GetBareConcreteFunction().GetConcreteFunctionName()
	if names := m.objects[id].GetFunction().GetConcreteFunctions(); len(names) == 1 {
		name = names[0]
	}
	concrete, ok := m.Meta.GetObjectGraphDef().GetConcreteFunctions()[name]
	if !ok {
		return nil, nil, errors.New("is no function with one trace")
	}
	def, ok := m.library[name]
	if !ok {
		return nil, nil, fmt.Errorf("function %s isn't in the library", name)
	}
	return def, concrete, nil
}

// Has reports whether a node of the graph or of one of its functions is of one of these kinds.
func (m *Model) Has(kinds ...string) bool {
	is := func(n *nodepb.NodeDef) bool { return slices.Contains(kinds, n.GetOp()) }
	if slices.ContainsFunc(m.Meta.GetGraphDef().GetNode(), is) {
		return true
	}
	for _, def := range m.library {
		if slices.ContainsFunc(def.GetNodeDef(), is) {
			return true
		}
	}
	return false
}

// harmless are the operations that have no errors of their own if they run for their effect alone,
// and calls, whose functions are checked separately.
var harmless = []string{
	"NoOp", "Const", "Identity", "IdentityN", "Placeholder", "PlaceholderWithDefault", "DisableCopyOnRead", "PartitionedCall",
	"StatefulPartitionedCall", "ReadVariableOp", "ResourceGather", "VarHandleOp", "VariableV2", "Assign", "AssignVariableOp", "VarIsInitializedOp",
	"HashTableV2", "HashTable", "MutableHashTableV2", "LookupTableFindV2", "LookupTableFind", "LookupTableSizeV2", "LookupTableImportV2",
	"InitializeTableFromTextFileV2", "InitializeTableFromTextFile", "InitializeTableV2", "RestoreV2", "SaveV2", "MergeV2Checkpoints", "ShardedFilename", "Pack",
	"StringJoin", "ParseExampleV2", "ParseExample", "ParseSequenceExampleV2",
}

// MayFailBesides reports whether a node that runs for its effect alone may have an error, such as
// an assertion. A Program computes what its results need, and runs no such node.
func (m *Model) MayFailBesides() bool {
	if mayFail(m.Meta.GetGraphDef().GetNode(), nil) {
		return true
	}
	for _, def := range m.library {
		if mayFail(def.GetNodeDef(), def.GetControlRet()) {
			return true
		}
	}
	return false
}

// mayFail checks the nodes that others depend on by control, and those that a function waits for.
func mayFail(nodes []*nodepb.NodeDef, waited map[string]string) bool {
	named := make(map[string][]*nodepb.NodeDef, len(nodes)) // more than one in a wrong graph
	for _, n := range nodes {
		named[n.GetName()] = append(named[n.GetName()], n)
	}
	var run []string // nodes that run for their effect
	for _, name := range waited {
		run = append(run, name)
	}
	for _, n := range nodes {
		for _, in := range n.GetInput() {
			if name, ok := strings.CutPrefix(in, "^"); ok {
				run = append(run, name)
			}
		}
	}
	for seen := map[string]bool{}; len(run) > 0; {
		name := run[len(run)-1]
		run = run[:len(run)-1]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, n := range named[name] {
			if !slices.Contains(harmless, n.GetOp()) {
				return true
			}
			if n.GetOp() != "Identity" && n.GetOp() != "IdentityN" {
				continue
			}
			// The inputs that it passes on run for the effect, too.
			for _, in := range n.GetInput() {
				run = append(run, nodeOf(in))
			}
		}
	}
	return false
}
