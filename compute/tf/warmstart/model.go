package warmstart

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	variablepb "github.com/wamuir/graft/tensorflow/core/framework/variable_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"
)

// maxModelBytes limits the graph, which is parsed at once.
const maxModelBytes = 1 << 30

// savedModel is the graph of a SavedModel, with the parts that show the meaning of weights.
type savedModel struct {
	dir       string
	graph     *corepb.MetaGraphDef
	functions map[string]*functionpb.FunctionDef
	nodes     map[string]*nodepb.NodeDef // outside of functions
}

func readModel(dir string) (*savedModel, error) {
	data, err := readBounded(filepath.Join(dir, "saved_model.pb"), maxModelBytes)
	if err != nil {
		return nil, err
	}
	return parseModel(dir, data)
}

func parseModel(dir string, data []byte) (*savedModel, error) {
	var model corepb.SavedModel
	if err := proto.Unmarshal(data, &model); err != nil {
		return nil, fmt.Errorf("saved_model.pb: %w", err)
	}
	at := slices.IndexFunc(model.GetMetaGraphs(), func(g *corepb.MetaGraphDef) bool {
		return slices.Contains(g.GetMetaInfoDef().GetTags(), "serve")
	})
	if at < 0 {
		return nil, errors.New(`saved_model.pb has no graph with the tag "serve"`)
	}
	m := &savedModel{
		dir: dir, graph: model.GetMetaGraphs()[at],
		functions: map[string]*functionpb.FunctionDef{}, nodes: map[string]*nodepb.NodeDef{},
	}
	for _, n := range m.graph.GetGraphDef().GetNode() {
		m.nodes[n.GetName()] = n
	}
	for _, f := range m.graph.GetGraphDef().GetLibrary().GetFunction() {
		m.functions[f.GetSignature().GetName()] = f
	}
	return m, nil
}

// object returns an object of the graph's tree; an empty one if there is none of that number.
func (m *savedModel) object(id int32) *corepb.SavedObject {
	nodes := m.graph.GetObjectGraphDef().GetNodes()
	if id < 0 || int(id) >= len(nodes) {
		return nil
	}
	return nodes[id]
}

// child returns an object's child of that name.
func (m *savedModel) child(id int32, name string) (int32, bool) {
	for _, c := range m.object(id).GetChildren() {
		if c.GetLocalName() == name {
			return c.GetNodeId(), true
		}
	}
	return 0, false
}

// v1Order returns the names of trainable variables as the program made them: the model's
// collection, or that of the graph which a Saver writes next to its checkpoint. It returns nil
// without either.
func v1Order(p place, model *savedModel) ([]string, error) {
	if model != nil {
		return variableNames(model.graph)
	}
	if !isFile(p.prefix + ".meta") {
		return nil, nil
	}
	data, err := readBounded(p.prefix+".meta", maxModelBytes)
	if err != nil {
		return nil, err
	}
	var graph corepb.MetaGraphDef
	if err := proto.Unmarshal(data, &graph); err != nil {
		return nil, fmt.Errorf("%s.meta: %w", p.prefix, err)
	}
	return variableNames(&graph)
}

// variableNames returns those under which a Saver keeps the collection's variables: of the parts of
// one, that of the whole.
func variableNames(graph *corepb.MetaGraphDef) ([]string, error) {
	var names []string
	for _, text := range graph.GetCollectionDef()["trainable_variables"].GetBytesList().GetValue() {
		var v variablepb.VariableDef
		if err := proto.Unmarshal(text, &v); err != nil {
			return nil, fmt.Errorf("collection trainable_variables: %w", err)
		}
		name, _, _ := strings.Cut(v.GetVariableName(), ":")
		if whole := v.GetSaveSliceInfoDef().GetFullName(); whole != "" {
			name = whole
		}
		names = append(names, name)
	}
	return names, nil
}
