package warmstart

import (
	"maps"
	"slices"

	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// keywordSpecs returns the widths of the arguments that a function takes by keyword: (tuple(),
// dict{keyword: TensorSpec}).
func keywordSpecs(signature *corepb.StructuredValue) map[string]int {
	widths := map[string]int{}
	values := signature.GetTupleValue().GetValues()
	if len(values) < 2 {
		return widths
	}
	for key, spec := range values[1].GetDictValue().GetFields() {
		widths[key] = widthOf(spec)
	}
	return widths
}

// argumentNames returns the names of a function's arguments that it takes in a dict: Keras 3 calls
// an argument inputs_1 that its model knows as a feature. The rest are "".
func (m *savedModel) argumentNames(fn *functionpb.FunctionDef) []string {
	concrete := m.graph.GetObjectGraphDef().GetConcreteFunctions()[fn.GetSignature().GetName()]
	values := concrete.GetCanonicalizedInputSignature().GetTupleValue().GetValues()
	if len(values) == 0 {
		return nil
	}
	var leaves leafNames
	leaves.add("", values[0], 0)
	return leaves.names
}

// leafNames flattens a structure as TensorFlow does, dicts by key.
type leafNames struct {
	names []string
	lost  bool // the following leaves can't be counted
}

func (l *leafNames) add(key string, v *corepb.StructuredValue, depth int) {
	switch {
	case l.lost:
	case v.GetTensorSpecValue() != nil:
		l.names = append(l.names, key)
	case v.GetTypeSpecValue().GetTypeSpecClass() == corepb.TypeSpecProto_SPARSE_TENSOR_SPEC:
		l.names = append(l.names, "", key, "") // indices, values, shape
	case v.GetTypeSpecValue() != nil || depth > maxDepth:
		l.lost = true
	case v.GetDictValue() != nil:
		fields := v.GetDictValue().GetFields()
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			l.add(key, fields[key], depth+1)
		}
	default:
		for _, inner := range append(v.GetTupleValue().GetValues(), v.GetListValue().GetValues()...) {
			l.add(key, inner, depth+1)
		}
	}
}

// widthOf returns the product of a TensorSpec's axes but the first; 0 if it isn't known.
func widthOf(spec *corepb.StructuredValue) int {
	width := 1
	for i, d := range spec.GetTensorSpecValue().GetShape().GetDim() {
		if i == 0 {
			continue
		}
		if d.GetSize() < 1 || d.GetSize() > int64(maxColumns/width) {
			return 0
		}
		width *= int(d.GetSize())
	}
	return width
}

// result is one tensor that a function returns: "" for what is only part of a feature.
type result struct {
	key   string
	width int
}

// resultNames returns the names of the results of a function that returns tensors by name, in the
// order in which TensorFlow flattens them: by key. nil for another function, and for a signature,
// whose names are not those of its results.
func (m *savedModel) resultNames(function string) []result {
	concrete := m.graph.GetObjectGraphDef().GetConcreteFunctions()[function]
	fields := concrete.GetOutputSignature().GetDictValue().GetFields()
	if len(fields) == 0 || m.isSignature(function) {
		return nil
	}
	var flat []result
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		spec := fields[key]
		switch {
		case spec.GetTensorSpecValue() != nil:
			flat = append(flat, result{key, widthOf(spec)})
		case spec.GetTypeSpecValue().GetTypeSpecClass() == corepb.TypeSpecProto_SPARSE_TENSOR_SPEC:
			flat = append(flat, result{}, result{key, 1}, result{}) // indices, values, shape
		default:
			return nil
		}
	}
	if len(flat) != len(m.functions[function].GetSignature().GetOutputArg()) {
		return nil
	}
	return flat
}

func (m *savedModel) isSignature(function string) bool {
	signatures, ok := m.child(0, "signatures")
	if !ok {
		return false
	}
	for _, c := range m.object(signatures).GetChildren() {
		if m.object(c.GetNodeId()).GetBareConcreteFunction().GetConcreteFunctionName() == function {
			return true
		}
	}
	return false
}
