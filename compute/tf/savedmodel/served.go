package savedmodel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/ops"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Served is a SavedModel, written by Stoker or by another program, that answers in Go as TensorFlow
// Serving would. It may be used by several goroutines at the same time.
type Served struct {
	model      *graph.Model
	signatures []graph.Signature

	mu       sync.Mutex
	limits   graph.Limits
	rounding graph.Rounding
	session  *graph.Session // nil until something has to be executed
	programs map[string]*graph.Program
}

// Signature is a function of a model under the name by which it is served: names, types and shapes
// of its inputs and outputs.
type Signature = graph.Signature

// Open reads the SavedModel in dir: its graph with the tag "serve". It executes nothing, so that a
// model with any ops can be described.
func Open(dir string) (*Served, error) {
	m, err := graph.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open SavedModel %s: %w", dir, err)
	}
	signatures, err := m.Signatures()
	if err != nil {
		return nil, fmt.Errorf("open SavedModel %s: %w", dir, err)
	}
	return &Served{model: m, signatures: signatures, programs: map[string]*graph.Program{}}, nil
}

// Signatures lists the signatures of the model by name.
func (s *Served) Signatures() []Signature { return slices.Clone(s.signatures) }

// Limit sets the limits of the model. It has no effect on signatures that have been compiled.
func (s *Served) Limit(limits graph.Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits, s.session = limits, nil
}

// Rounded returns the model with its variables rounded in another way (graph.Rounding). It has the
// current limits of s, and restores and compiles independently.
func (s *Served) Rounded(r graph.Rounding) *Served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Served{model: s.model, signatures: s.signatures, limits: s.limits, rounding: r, programs: map[string]*graph.Program{}}
}

// CheckOps returns an error for the ops of the model that the policy doesn't allow (graph.Policy).
func (s *Served) CheckOps(policy graph.Policy) error { return s.model.CheckOps(policy) }

// Compile restores the model's variables, fills its tables, and makes the signature ready to run;
// Run does the same if it hasn't been done. An op that isn't known is an error that names the op,
// its node and the output that needs it.
func (s *Served) Compile(signature string) error {
	return s.CompileContext(context.Background(), signature)
}

// CompileContext is Compile with a context: soon after ctx ends it returns an error.
func (s *Served) CompileContext(ctx context.Context, signature string) error {
	_, _, err := s.program(ctx, signature)
	return err
}

// Run executes a signature: it takes the inputs by name, and returns the outputs by name. A sparse
// input x is three tensors, x/indices, x/values and x/dense_shape, a ragged one x/values and
// x/row_splits, then x/row_splits_1 and so on inwards; outputs are named in the same way. Inputs
// for which TensorFlow has an error are an error here too. Exceeding the limits (Limit,
// graph.Limits) is an error with graph.ErrLimit in its chain.
func (s *Served) Run(signature string, inputs map[string]tensor.Tensor) (map[string]tensor.Tensor, error) {
	return s.RunContext(context.Background(), signature, inputs)
}

// RunContext is Run with a context: soon after ctx ends it returns an error with the cause in its
// chain.
func (s *Served) RunContext(ctx context.Context, signature string, inputs map[string]tensor.Tensor) (map[string]tensor.Tensor, error) {
	of, program, err := s.program(ctx, signature)
	if err != nil {
		return nil, err
	}
	frame := program.Frame()
	defer frame.Release()
	if err := feed(frame.Args, of.Inputs, inputs); err != nil {
		return nil, fmt.Errorf("signature %s: %w", signature, err)
	}
	if err := frame.Run(ctx); err != nil {
		return nil, fmt.Errorf("signature %s: %w", signature, err)
	}
	outputs := map[string]tensor.Tensor{}
	for i, key := range keys(of.Outputs) {
		if outputs[key.name], err = frame.Copy(i); err != nil {
			return nil, fmt.Errorf("signature %s: output %q: %w", signature, key.name, err)
		}
	}
	return outputs, nil
}

// program returns the compiled signature.
func (s *Served) program(ctx context.Context, name string) (Signature, *graph.Program, error) {
	of, err := graph.Find(s.signatures, name)
	if err != nil {
		return of, nil, fmt.Errorf("SavedModel %s: %w", s.model.Dir, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.programs[name]; p != nil {
		return of, p, nil
	}
	if s.session == nil {
		if s.session, err = s.model.Start(ctx, s.limits); err != nil {
			return of, nil, fmt.Errorf("SavedModel %s: %w", s.model.Dir, err)
		}
		s.session.Round(s.rounding)
	}
	p, err := s.session.Compile(ctx, of, "output")
	if err != nil {
		return of, nil, fmt.Errorf("SavedModel %s: %w", s.model.Dir, err)
	}
	s.programs[name] = p
	return of, p, nil
}

// tensorKey is the name of one tensor of those of an input or an output, and its type.
type tensorKey struct {
	name  string
	dtype tensor.DType
}

// keys returns the names of the tensors of a signature's inputs or outputs, in the order of its
// program.
func keys(specs []graph.Spec) []tensorKey {
	var list []tensorKey
	for _, spec := range specs {
		parts := []string{""}
		switch spec.Layout {
		case graph.Sparse:
			parts = []string{"/indices", "/values", "/dense_shape"}
		case graph.Ragged:
			parts = []string{"/values", "/row_splits"}
			for level := 1; level < spec.Levels; level++ {
				parts = append(parts, fmt.Sprintf("/row_splits_%d", level))
			}
		}
		for i, t := range spec.Types() {
			list = append(list, tensorKey{spec.Name + parts[i], t})
		}
	}
	return list
}

// feed puts the inputs in the order of the program's arguments.
func feed(args []ops.Value, specs []graph.Spec, inputs map[string]tensor.Tensor) error {
	wanted := keys(specs)
	for i, key := range wanted {
		t := inputs[key.name]
		if t == nil {
			return fmt.Errorf("input %q is missing", key.name)
		}
		if t.DType() != key.dtype {
			return fmt.Errorf("input %q is %v, wants %v", key.name, t.DType(), key.dtype)
		}
		args[i] = t
	}
	if len(inputs) > len(wanted) {
		for _, name := range slices.Sorted(maps.Keys(inputs)) {
			if !slices.ContainsFunc(wanted, func(k tensorKey) bool { return k.name == name }) {
				return fmt.Errorf("input %q is none of the signature's", name)
			}
		}
	}
	return checkShapes(specs, inputs)
}

// checkShapes checks the shapes that the signature has for dense inputs.
func checkShapes(specs []graph.Spec, inputs map[string]tensor.Tensor) error {
	var faults []error
	for _, spec := range specs {
		if spec.Layout != graph.Dense || spec.Shape == nil {
			continue
		}
		shape := inputs[spec.Name].Shape()
		fits := slices.EqualFunc(spec.Shape, shape, func(want, have int) bool { return want < 0 || want == have })
		if !fits {
			faults = append(faults, fmt.Errorf("input %q has shape %v, wants %s", spec.Name, shape, shapeText(spec.Shape)))
		}
	}
	return errors.Join(faults...)
}

// shapeText writes a shape with a question mark for unknown dimensions.
func shapeText(shape []int) string {
	return strings.ReplaceAll(fmt.Sprint(shape), "-1", "?")
}

// ParsesExamples reports whether the model has an operation that reads serialized tf.Examples or
// tf.SequenceExamples, or may have one: what Python code does is unknown.
func (s *Served) ParsesExamples() bool {
	return s.model.Has("ParseExample", "ParseExampleV2", "ParseSingleExample", "ParseSequenceExample", "ParseSequenceExampleV2",
		"ParseSingleSequenceExample", "ParseExampleDataset", "ParseExampleDatasetV2", "ExperimentalParseExampleDataset", "DecodeProtoV2", "PyFunc", "PyFuncStateless", "EagerPyFunc")
}

// MayFailBesides reports whether the model has a node that runs for its effect alone and may have
// an error, such as an assertion. Run doesn't run it.
func (s *Served) MayFailBesides() bool { return s.model.MayFailBesides() }
