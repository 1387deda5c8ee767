package transform

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/example"
)

// maxGraphBytes bounds what is read at once. Vocabularies are files of their own.
const maxGraphBytes = 512 << 20

// artifact is the SavedModel in a TransformGraph artifact, with the one function in it that counts. Features are named
// through the object graph, never through the flat signature, whose inputs are numbered and sorted as text.
type artifact struct {
	dir      string // of the SavedModel
	meta     *corepb.MetaGraphDef
	objects  []*corepb.SavedObject
	library  map[string]*functionpb.FunctionDef
	top      map[string]*nodepb.NodeDef
	function *functionpb.FunctionDef
	captured []int32 // objects that stand behind the function's last arguments
	inputs   []feature
	outputs  []feature
}

// readGraph reads the SavedModel in dir.
func readGraph(dir string) ([]byte, error) {
	path := filepath.Join(dir, "saved_model.pb")
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxGraphBytes {
		return nil, inputError{fmt.Errorf("saved_model.pb has %d bytes, %d are read at most", info.Size(), maxGraphBytes)}
	}
	return os.ReadFile(path)
}

func parseArtifact(dir string, data []byte) (*artifact, error) {
	var model corepb.SavedModel
	if err := proto.Unmarshal(data, &model); err != nil {
		return nil, fmt.Errorf("saved_model.pb does not parse: %w", err)
	}
	if len(model.GetMetaGraphs()) != 1 {
		return nil, fmt.Errorf("saved_model.pb has %d graphs, tf.Transform writes one", len(model.GetMetaGraphs()))
	}
	a := &artifact{dir: dir, meta: model.GetMetaGraphs()[0]}
	a.objects = a.meta.GetObjectGraphDef().GetNodes()
	a.library, a.top = map[string]*functionpb.FunctionDef{}, map[string]*nodepb.NodeDef{}
	for _, def := range a.meta.GetGraphDef().GetLibrary().GetFunction() {
		a.library[def.GetSignature().GetName()] = def
	}
	for _, node := range a.meta.GetGraphDef().GetNode() {
		a.top[node.GetName()] = node
	}
	return a, a.findFunction()
}

// findFunction finds the root's child transform_fn and reads what goes into it and comes out.
func (a *artifact) findFunction() error {
	if len(a.objects) == 0 {
		return errors.New("no object graph: graphs made with force_tf_compat_v1 can't be read")
	}
	id, ok := a.child(0, "transform_fn")
	if !ok {
		return errors.New("object graph has no transform_fn")
	}
	def, concrete, err := a.traced(id)
	if err != nil {
		return fmt.Errorf("object transform_fn: %w", err)
	}
	a.function, a.captured = def, concrete.GetBoundInputs()
	if a.inputs, err = features(firstArgument(concrete.GetCanonicalizedInputSignature())); err != nil {
		return fmt.Errorf("raw %w", err)
	}
	if a.outputs, err = features(concrete.GetOutputSignature()); err != nil {
		return fmt.Errorf("transformed %w", err)
	}
	return a.checkCounts()
}

// checkCounts makes sure that names and positions can't be off by one.
func (a *artifact) checkCounts() error {
	in, out := len(a.captured), 0
	for _, f := range a.inputs {
		in += f.tensors()
	}
	for _, f := range a.outputs {
		out += f.tensors()
	}
	signature := a.function.GetSignature()
	if have := len(signature.GetInputArg()); have != in {
		return fmt.Errorf("function takes %d tensors, its %d features and %d captures are %d", have, len(a.inputs), len(a.captured), in)
	}
	if have := len(signature.GetOutputArg()); have != out || out == 0 {
		return fmt.Errorf("function gives %d tensors, its %d features are %d", have, len(a.outputs), out)
	}
	return nil
}

// traced is the function behind an object that is a function traced once.
func (a *artifact) traced(id int32) (*functionpb.FunctionDef, *corepb.SavedConcreteFunction, error) {
	name := a.objects[id].GetBareConcreteFunction().GetConcreteFunctionName()
	if names := a.objects[id].GetFunction().GetConcreteFunctions(); len(names) == 1 {
		name = names[0]
	}
	concrete, ok := a.meta.GetObjectGraphDef().GetConcreteFunctions()[name]
	if !ok {
		return nil, nil, errors.New("is no function with one trace")
	}
	def, ok := a.library[name]
	if !ok {
		return nil, nil, fmt.Errorf("function %s isn't in the library", name)
	}
	return def, concrete, nil
}

// child finds the object of that name below another.
func (a *artifact) child(id int32, name string) (int32, bool) {
	children := a.objects[id].GetChildren()
	i := slices.IndexFunc(children, func(c *corepb.TrackableObjectGraph_TrackableObject_ObjectReference) bool {
		return c.GetLocalName() == name
	})
	if i < 0 {
		return 0, false
	}
	to := children[i].GetNodeId()
	return to, to >= 0 && int(to) < len(a.objects)
}

// composites are the raw features that are put together of several columns, as the raw schema in the artifact says. Without
// a schema there are none.
func (a *artifact) composites() ([]example.Composite, error) {
	schema, err := example.ReadSchema(filepath.Join(filepath.Dir(a.dir), "metadata", "schema.pbtxt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return schema.Composites(), nil
}
