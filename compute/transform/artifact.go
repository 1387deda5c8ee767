package transform

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/example"
	"github.com/stoker-ml/stoker/compute/tensorflow"
)

// artifact is a TransformGraph: a SavedModel, the one function in it that counts, and the raw schema beside it.
type artifact struct {
	model *tensorflow.Model
	trace *tensorflow.Trace
}

func newArtifact(m *tensorflow.Model) (*artifact, error) {
	t, err := m.Trace("transform_fn")
	if err != nil {
		return nil, err
	}
	return &artifact{m, t}, nil
}

// composites are the raw features that are put together of several columns, as the raw schema in the artifact says. Without
// a schema there are none.
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
