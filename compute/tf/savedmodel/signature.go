package savedmodel

import (
	"cmp"
	"slices"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// predictMethod is the method that signatures must name for TensorFlow Serving.
const predictMethod = "tensorflow/serving/predict"

// signature is a way to call the model, under construction: a function, with its inputs and outputs
// by key.
type signature struct {
	*function
	key             string
	inputs, outputs []tensorSpec
}

func (b *builder) newSignature(key string) *signature {
	return &signature{function: newFunction(b.numbered("signature_wrapper_" + key)), key: key}
}

// takes declares the inputs, in the order of their keys, and returns the arguments by key.
func (s *signature) takes(inputs []tensorSpec) map[string]edge {
	s.inputs = slices.SortedFunc(slices.Values(inputs), byKey)
	args := map[string]edge{}
	for _, in := range s.inputs {
		args[in.key] = s.input(in.key, in.dtype)
	}
	return args
}

// gives declares the outputs, in the order of their keys: TensorFlow flattens the dict that way.
func (s *signature) gives(outputs []tensorSpec, values map[string]edge) {
	s.outputs = slices.SortedFunc(slices.Values(outputs), byKey)
	for _, out := range s.outputs {
		result := s.op("Identity", "result/"+out.key, attrs{"T": typeAttr(out.dtype)}, values[out.key])
		s.output(out.key, result, out.dtype)
	}
}

func byKey(a, b tensorSpec) int { return cmp.Compare(a.key, b.key) }

// addSignature adds the function, the object that TensorFlow 2 calls, and the placeholders and the
// call that a session runs.
func (b *builder) addSignature(s *signature) {
	b.functions = append(b.functions, s.function)
	b.objects.child(signatureObject, b.objects.bareFunction(s.function, s.inputs, s.outputs), s.key)
	//lint:ignore SA1019 TensorFlow Serving before 2.4 checks it
	def := &corepb.SignatureDef{MethodName: predictMethod, Inputs: map[string]*corepb.TensorInfo{}, Outputs: map[string]*corepb.TensorInfo{}}
	var args []string
	for _, in := range s.inputs {
		a := attrs{"dtype": typeAttr(in.dtype), "shape": shapeAttr(shapeProto(in.shape...))}
		arg := b.top.node("Placeholder", s.key+"_"+in.key, a)
		def.Inputs[in.key] = tensorInfo(outputOf(arg, 0), in)
		args = append(args, arg)
	}
	call := b.top.call(s.key+"_call", s.function, args...)
	for i, out := range s.outputs {
		def.Outputs[out.key] = tensorInfo(outputOf(call, i), out)
	}
	b.signatures[s.key] = def
}

func tensorInfo(name string, spec tensorSpec) *corepb.TensorInfo {
	shape := shapeProto(spec.shape...)
	shape.UnknownRank = spec.shape == nil
	return &corepb.TensorInfo{Encoding: &corepb.TensorInfo_Name{Name: name}, Dtype: spec.dtype, TensorShape: shape}
}
