package graph

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// Session is a model with its variables restored and its tables filled, as TensorFlow's loader in
// C++ leaves it: the loader runs the node of the top graph that restores, then the one that
// initializes. Values of variables are read from the files when a program is compiled that needs
// them, and kept. A session must be used by one goroutine at a time; the programs that it compiles
// may be used by several.
type Session struct {
	model     *Model
	bundle    *tensorbundle.Bundle // nil for a model without variables
	variables map[string]*ops.Variable
	tables    map[string]*ops.Table
	assets    map[string]string   // the paths, by the tensor of the top graph that contains them
	datasets  map[string]*dataset // by tensor of the top graph

	limits   Limits
	budget   *ops.Budget // of the session's memory
	rounding Rounding
	sizes    map[*nodepb.NodeDef]int64

	// The nodes of functions that were called, by name: they may be called often.
	nodes map[*functionpb.FunctionDef]map[string]*nodepb.NodeDef
}

// variablesPrefix is the prefix of a SavedModel's variables, below its directory.
var variablesPrefix = filepath.Join("variables", "variables")

// Start restores the variables and initializes the tables. The limits are for the session and for
// the programs that it compiles; ctx is for this call only.
func (m *Model) Start(ctx context.Context, limits Limits) (*Session, error) {
	s := &Session{
		model: m, variables: map[string]*ops.Variable{}, tables: map[string]*ops.Table{},
		assets: map[string]string{}, datasets: map[string]*dataset{},
		nodes: map[*functionpb.FunctionDef]map[string]*nodepb.NodeDef{}, sizes: map[*nodepb.NodeDef]int64{},
		limits: limits.withDefaults(m),
	}
	s.budget = ops.NewBudget(ctx, s.limits.Bytes, s.limits.Steps)
	defer s.begin(ctx)()
	captured := m.calledWith()
	if err := errors.Join(s.findAssets(), s.findDatasets(captured)); err != nil {
		return nil, err
	}
	prefix := filepath.Join(m.Dir, variablesPrefix)
	if _, err := os.Stat(prefix + ".index"); err == nil {
		if s.bundle, err = tensorbundle.Open(prefix); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFiles, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := s.run(nodeOf(m.Meta.GetSaverDef().GetRestoreOpName())); err != nil {
		return nil, fmt.Errorf("restore variables: %w", err)
	}
	if err := s.restoreObjects(captured); err != nil {
		return nil, fmt.Errorf("restore variables: %w", err)
	}
	for _, node := range m.InitNodes() {
		if err := s.run(node); err != nil {
			return nil, fmt.Errorf("initialise: %w", err)
		}
	}
	return s, nil
}

// begin sets ctx, with the time limit, as the session's context until the returned function is
// called.
func (s *Session) begin(ctx context.Context) (end func()) {
	ctx, end = s.limits.context(ctx)
	s.budget.Within(ctx)
	return end
}

// compiledBytes is the memory of a compiled node, in addition to that of its definition.
const compiledBytes = 512

// chargeNode charges the memory of a node's kernel, which may keep all attributes.
func (s *Session) chargeNode(def *nodepb.NodeDef) error {
	size, ok := s.sizes[def]
	if !ok {
		size = int64(proto.Size(def))
		s.sizes[def] = size
	}
	return s.budget.Charge(size + compiledBytes)
}

// findAssets finds the tensors with the paths of assets.
func (s *Session) findAssets() error {
	for i := range s.model.assets {
		path, err := s.model.assetPath(i)
		if err != nil {
			return err
		}
		s.assets[canonical(s.model.assets[i].GetTensorInfo().GetName())] = path
	}
	return nil
}

// assetOf returns the path of the asset that an object is.
func (m *Model) assetOf(id int32) (string, error) {
	if id < 0 || int(id) >= len(m.objects) || m.objects[id].GetAsset() == nil {
		return "", fmt.Errorf("object %d is no asset", id)
	}
	i := int(m.objects[id].GetAsset().GetAssetFileDefIndex())
	if i < 0 || i >= len(m.assets) {
		return "", fmt.Errorf("object %d: no asset %d", id, i)
	}
	return m.assetPath(i)
}

// assetPath returns the path of asset i, which must be in the directory of assets.
func (m *Model) assetPath(i int) (string, error) {
	name := filepath.FromSlash(m.assets[i].GetFilename())
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("asset %q is outside of its folder", name)
	}
	return filepath.Join(m.Dir, "assets", name), nil
}

// isAsset reports whether a path in a graph is that of an asset: no other file is read.
func (s *Session) isAsset(path string) bool {
	for _, have := range s.assets {
		if have == path {
			return true
		}
	}
	return false
}

// The collections that name the nodes to run after restoring: the first existing one counts. The
// third is TensorFlow 1's own, for graphs without such a node, for example tf.Transform's.
var initCollections = []string{"saved_model_main_op", "legacy_init_op", "table_initializer"}

// InitNodes returns the nodes of the top graph that fill tables. TensorFlow 2 has a signature for
// it as well.
func (m *Model) InitNodes() []string {
	var nodes []string
	for _, name := range initCollections {
		for _, reference := range m.Meta.GetCollectionDef()[name].GetNodeList().GetValue() {
			nodes = append(nodes, nodeOf(reference))
		}
		if len(nodes) > 0 {
			return nodes
		}
	}
	if node := nodeOf(m.Meta.GetSignatureDef()[initSignature].GetOutputs()[initSignature].GetName()); node != "" {
		return []string{node}
	}
	return nil
}

// newScope returns the top graph, with the paths of its files in place, for a new plan.
func (s *Session) newScope() *scope {
	c := newCompiler(s.model.library, s)
	top := &scope{compiler: c, nodes: s.model.top, slots: map[string][]int{}, open: map[string]bool{}, feeds: map[string]int{}}
	if saver := s.model.Meta.GetSaverDef().GetFilenameTensorName(); saver != "" {
		top.feed(saver, tensor.String, tensor.Scalar(filepath.Join(s.model.Dir, variablesPrefix)))
	}
	for name, path := range s.assets {
		top.feed(name, tensor.String, tensor.Scalar(path))
	}
	for name, set := range s.datasets {
		top.feed(name, tensor.Variant, set)
	}
	return top
}

// nodesOf returns the nodes of a function by name.
func (s *Session) nodesOf(def *functionpb.FunctionDef) map[string]*nodepb.NodeDef {
	nodes, ok := s.nodes[def]
	if !ok {
		nodes = make(map[string]*nodepb.NodeDef, len(def.GetNodeDef()))
		for _, n := range def.GetNodeDef() {
			nodes[n.GetName()] = n
		}
		s.nodes[def] = nodes
	}
	return nodes
}

// nodeOf returns the node in a reference: node, node:index, node:output:index or ^node.
func nodeOf(reference string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(reference, "^"), ":")
	return name
}

// canonical returns a reference of the top graph with its index.
func canonical(reference string) string {
	if reference == "" || strings.Contains(reference, ":") {
		return reference
	}
	return reference + ":0"
}

// dataInputs returns a node's inputs without the control inputs.
func dataInputs(inputs []string) []string {
	return slices.DeleteFunc(slices.Clone(inputs), func(in string) bool { return strings.HasPrefix(in, "^") })
}
