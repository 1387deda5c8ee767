package transform

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// artifact is a TransformGraph: a SavedModel, its transform function, and the raw schema.
type artifact struct {
	model           *graph.Model
	inputs, outputs []graph.Spec
	compile         func(context.Context, *graph.Session) (*graph.Program, error)
}

// The names of the function: in the tree of objects, and among the signatures of graphs of
// TensorFlow 1 (force_tf_compat_v1), which have no such tree.
const (
	transformObject    = "transform_fn"
	transformSignature = "transform_signature"
)

func newArtifact(m *graph.Model) (*artifact, error) {
	t, err := m.Trace(transformObject)
	if errors.Is(err, graph.ErrNoObjects) {
		return oldArtifact(m)
	}
	if err != nil {
		return nil, err
	}
	return &artifact{m, t.Inputs, t.Outputs, func(ctx context.Context, s *graph.Session) (*graph.Program, error) {
		return s.CompileTrace(ctx, t, transformed)
	}}, nil
}

// oldArtifact uses the signature, in which such graphs name features.
func oldArtifact(m *graph.Model) (*artifact, error) {
	signatures, err := m.Signatures()
	if err != nil {
		return nil, err
	}
	of, err := graph.Find(signatures, transformSignature)
	if err != nil {
		return nil, err
	}
	return &artifact{m, of.Inputs, of.Outputs, func(ctx context.Context, s *graph.Session) (*graph.Program, error) {
		return s.Compile(ctx, of, transformed)
	}}, nil
}

// transformed is the kind of the function's outputs.
const transformed = "transformed feature"

// composites returns the raw features that are composed of several columns, by the raw schema in
// the artifact. Without a schema there are none.
func (a *artifact) composites() ([]example.Composite, error) {
	schema, err := example.ReadSchema(filepath.Join(filepath.Dir(a.model.Dir), "metadata", "schema.pbtxt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return schema.Composites(), nil
}
