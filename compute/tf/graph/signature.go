package graph

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Signature is a function of a model under the name by which it is served.
type Signature struct {
	Name    string // serving_default
	Method  string // tensorflow/serving/predict
	Inputs  []Spec // by name
	Outputs []Spec

	in, out []string // the tensors of Inputs and Outputs in the graph, one after another
}

// Tensors returns the signature's tensors in the top graph: those of Inputs and those of Outputs,
// one after another, as node:index.
func (s Signature) Tensors() (inputs, outputs []string) {
	return slices.Clone(s.in), slices.Clone(s.out)
}

// initSignature names the node that fills tables. It is not a signature to serve.
const initSignature = "__saved_model_init_op"

// Signatures lists the signatures of the model by name. It executes nothing.
func (m *Model) Signatures() ([]Signature, error) {
	var list []Signature
	defs := m.Meta.GetSignatureDef()
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		if name == initSignature || len(defs[name].GetOutputs()) == 0 {
			continue
		}
		s, err := readSignature(name, defs[name])
		if err != nil {
			return nil, fmt.Errorf("signature %s: %w", name, err)
		}
		list = append(list, s)
	}
	return list, nil
}

func readSignature(name string, def *corepb.SignatureDef) (Signature, error) {
	s := Signature{Name: name, Method: def.GetMethodName()}
	var err error
	if s.Inputs, s.in, err = ports(def.GetInputs()); err != nil {
		return s, fmt.Errorf("input %w", err)
	}
	if s.Outputs, s.out, err = ports(def.GetOutputs()); err != nil {
		return s, fmt.Errorf("output %w", err)
	}
	return s, nil
}

// ports returns the specs of tensors by name, and the tensors in the graph.
func ports(infos map[string]*corepb.TensorInfo) (specs []Spec, references []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		s, at, err := port(infos[name])
		if err == nil && len(at) != s.Tensors() {
			err = fmt.Errorf("has %d tensors, wants %d", len(at), s.Tensors())
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w", name, err)
		}
		s.Name = name
		specs, references = append(specs, s), append(references, at...)
	}
	return specs, references, nil
}

func port(info *corepb.TensorInfo) (Spec, []string, error) {
	s := Spec{DType: info.GetDtype()}
	if shape := info.GetTensorShape(); shape != nil && !shape.GetUnknownRank() {
		s.Shape = tensor.ShapeOf(shape)
	}
	switch encoding := info.GetEncoding().(type) {
	case *corepb.TensorInfo_Name:
		return s, []string{encoding.Name}, nil
	case *corepb.TensorInfo_CooSparse_:
		s.Layout = Sparse
		parts := encoding.CooSparse
		return s, []string{parts.GetIndicesTensorName(), parts.GetValuesTensorName(), parts.GetDenseShapeTensorName()}, nil
	case *corepb.TensorInfo_CompositeTensor_:
		return compositePort(encoding.CompositeTensor)
	}
	return s, nil, fmt.Errorf("is neither a tensor nor made of tensors")
}

func compositePort(composite *corepb.TensorInfo_CompositeTensor) (Spec, []string, error) {
	s, err := readSpec(&corepb.StructuredValue{Kind: &corepb.StructuredValue_TypeSpecValue{TypeSpecValue: composite.GetTypeSpec()}})
	var references []string
	for _, part := range composite.GetComponents() {
		references = append(references, part.GetName())
	}
	return s, references, err
}

// Compile compiles a signature. An op that isn't known is an error that names the op, its node and
// the output that needs it; what names the kind of the outputs, for example: output. The program's
// arguments are the tensors of the signature's inputs, one after another, its results those of the
// outputs.
func (s *Session) Compile(ctx context.Context, signature Signature, what string) (*Program, error) {
	defer s.begin(ctx)()
	top := s.newScope()
	at := 0
	for _, in := range signature.Inputs {
		for _, dtype := range in.Types() {
			top.plan.args = append(top.plan.args, top.feed(signature.in[at], dtype, nil))
			at++
		}
	}
	next := 0
	result := func() (int, error) { next++; return top.resolve(signature.out[next-1]) }
	if err := top.compileOutputs(signature.Outputs, what, result); err != nil {
		return nil, fmt.Errorf("signature %s: %w", signature.Name, err)
	}
	return s.newProgram(top.plan), nil
}

// Find returns the signature of that name, that of serving_default for "".
func Find(signatures []Signature, name string) (Signature, error) {
	name = cmp.Or(name, "serving_default")
	i := slices.IndexFunc(signatures, func(s Signature) bool { return s.Name == name })
	if i >= 0 {
		return signatures[i], nil
	}
	var names []string
	for _, s := range signatures {
		names = append(names, s.Name)
	}
	return Signature{}, fmt.Errorf("no signature %q: there are %q", name, names)
}
