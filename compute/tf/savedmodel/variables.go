package savedmodel

import (
	"fmt"
	"strconv"
	"strings"

	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
	"github.com/stoker-ml/stoker/compute/tf/tensorbundle"
)

// valueSuffix is the end of the key of a variable's value in a checkpoint, after the path to the
// variable from the root.
const valueSuffix = "/.ATTRIBUTES/VARIABLE_VALUE"

// addVariables makes each param a variable: in the top graph, and in the object graph under its
// name, where each / goes one object deeper. loaded.variables and loaded.trainable_variables read
// the root's lists.
func (b *builder) addVariables(params []nn.Param) error {
	b.params = map[string]capture{}
	var all, trainable []int32
	for _, p := range params {
		id, err := b.addVariable(p)
		if err != nil {
			return fmt.Errorf("param %q: %w", p.Name, err)
		}
		all = append(all, id)
		if p.Trainable {
			trainable = append(trainable, id)
		}
	}
	b.addList("variables", all)
	b.addList("trainable_variables", trainable)
	return nil
}

func (b *builder) addVariable(p nn.Param) (int32, error) {
	variable := &corepb.SavedVariable{Dtype: float32Type, Shape: shapeProto(p.Shape...), Trainable: p.Trainable, Name: p.Name}
	id := b.objects.add(&corepb.SavedObject{Kind: &corepb.SavedObject_Variable{Variable: variable}})
	if err := b.place(id, strings.Split(p.Name, "/")); err != nil {
		return 0, err
	}
	key := checkpointKey(p.Name)
	b.objects.values[id] = &serializedTensor{Name: "VARIABLE_VALUE", FullName: p.Name, CheckpointKey: key}
	b.stored = append(b.stored, tensorbundle.Entry{Key: key, Value: &tensor.Array[float32]{Dims: p.Shape, Data: p.Values}})

	handle := b.top.node("VarHandleOp", p.Name, attrs{
		"dtype": typeAttr(float32Type), "shape": shapeAttr(shapeProto(p.Shape...)), "shared_name": stringAttr(p.Name),
	})
	b.top.node("VarIsInitializedOp", handle+"/IsInitialized/VarIsInitializedOp", nil, handle)
	read := b.top.node("ReadVariableOp", handle+"/Read/ReadVariableOp", attrs{"dtype": typeAttr(float32Type)}, handle)
	b.params[p.Name] = capture{object: id, node: handle, dtype: resourceType}
	b.saved = append(b.saved, saved{key: key, value: read, handle: handle, dtype: float32Type})
	return id, nil
}

// place adds a variable to the tree at path, and the missing objects on the path.
func (b *builder) place(id int32, path []string) error {
	at := int32(rootObject)
	for i, name := range path {
		next, taken := b.objects.find(at, name)
		last := i == len(path)-1
		switch {
		case name == "" || i == 0 && reservedNames[name]:
			return fmt.Errorf("%q can't be part of a variable's name", name)
		case taken && (last || b.objects.nodes[next].GetUserObject() == nil):
			return fmt.Errorf("its place %s is taken by another variable", strings.Join(path[:i+1], "/"))
		case last:
			b.objects.child(at, id, name)
		case !taken:
			next = b.objects.add(userObject("_generic_user_object"))
			b.objects.child(at, next, name)
		}
		at = next
	}
	return nil
}

// reservedNames are the root's own children.
var reservedNames = map[string]bool{"signatures": true, "variables": true, "trainable_variables": true, transformChild: true}

// checkpointKey returns the key of the value of the variable at this path in TensorFlow's
// checkpoint: dots in names are doubled.
func checkpointKey(name string) string {
	return strings.ReplaceAll(name, ".", "..") + valueSuffix
}

func (b *builder) addList(name string, ids []int32) {
	list := b.objects.add(userObject("trackable_list_wrapper"))
	for i, id := range ids {
		b.objects.child(list, id, strconv.Itoa(i))
	}
	b.objects.child(rootObject, list, name)
}

// saved is a tensor for the saver: its key in the checkpoint, the node with its value, and the
// variable to restore it to, if it is a variable.
type saved struct {
	key, value, handle string
	dtype              typepb.DataType
}

// addSaver writes the nodes that restore and save all variables in a session, for the loaders
// before TensorFlow 2 and the C++ one. TensorFlow 2 uses the object graph. The ops need at least
// one tensor: for a model without variables, as in TensorFlow, it is the object graph.
func (b *builder) addSaver(objects []byte) *corepb.SaverDef {
	if len(b.saved) == 0 {
		graph := b.top.constant("save/object_graph", stringConst(string(objects)))
		b.saved = []saved{{key: tensorbundle.ObjectGraphKey, value: graph, dtype: stringType}}
	}
	var keys, values []string
	var types []typepb.DataType
	for _, v := range b.saved {
		keys, values, types = append(keys, v.key), append(values, v.value), append(types, v.dtype)
	}
	filename := b.top.constant("save/filename/input", stringConst("model"))
	filename = b.top.node("PlaceholderWithDefault", "save/filename",
		attrs{"dtype": typeAttr(stringType), "shape": shapeAttr(shapeProto())}, filename)
	names := b.top.constant("save/tensor_names", stringsConst(keys))
	slices := b.top.constant("save/shape_and_slices", stringsConst(make([]string, len(keys))))
	restored := b.top.node("RestoreV2", "save/RestoreV2", attrs{"dtypes": typesAttr(types...)}, filename, names, slices)
	restore := b.top.node("NoOp", "save/restore_all", nil, b.assignments(restored)...)
	save := b.top.node("SaveV2", "save/SaveV2", attrs{"dtypes": typesAttr(types...)},
		append([]string{filename, names, slices}, values...)...)
	done := b.top.node("Identity", "save/control_dependency", attrs{"T": typeAttr(stringType)}, filename, "^"+save)
	return &corepb.SaverDef{
		FilenameTensorName: outputOf(filename, 0), SaveTensorName: outputOf(done, 0), RestoreOpName: restore,
		MaxToKeep: 5, Version: corepb.SaverDef_V2,
	}
}

// assignments adds the nodes that assign the restored values to the variables, and returns their
// names for the node that runs after them.
func (b *builder) assignments(restored string) (all []string) {
	for i, v := range b.saved {
		if v.handle != "" {
			assign := b.top.node("AssignVariableOp", fmt.Sprintf("save/AssignVariableOp_%d", i),
				attrs{"dtype": typeAttr(v.dtype)}, v.handle, outputOf(restored, i))
			all = append(all, "^"+assign)
		}
	}
	if all == nil {
		all = []string{"^" + restored}
	}
	return all
}
