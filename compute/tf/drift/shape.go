package drift

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// Shape is what the data of a run looks like, apart from its values. Equal shapes have equal
// digests; "": there is no such artifact.
type Shape struct {
	Schema         string `json:"schema,omitempty"`
	TransformGraph string `json:"transform_graph,omitempty"`
}

// Files of TFX's artifacts.
const (
	schemaFile     = "schema.pbtxt"
	transformModel = "transform_fn"
)

// ReadShape reads a Schema and a TransformGraph artifact in local directories; if a directory does
// not exist, the run has no such artifact. example.Schema.StructureDigest and
// graph.Model.StructureDigest define the digests.
func ReadShape(schema, transformGraph string) (s Shape, err error) {
	if exists(schema) {
		read, err := example.ReadSchema(filepath.Join(schema, schemaFile))
		if err != nil {
			return Shape{}, err
		}
		s.Schema = read.StructureDigest()
	}
	if exists(transformGraph) {
		m, err := graph.Open(filepath.Join(transformGraph, transformModel))
		if err != nil {
			return Shape{}, fmt.Errorf("transform graph: %w", err)
		}
		if s.TransformGraph, err = m.StructureDigest(); err != nil {
			return Shape{}, fmt.Errorf("transform graph: %w", err)
		}
	}
	return s, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Differs names the parts in which two shapes differ; "" if they are equal.
func (s Shape) Differs(other Shape) string {
	switch {
	case s.Schema != other.Schema:
		return "the schema has other features, types or shapes"
	case s.TransformGraph != other.TransformGraph:
		return "the transform graph has other operations, shapes or vocabulary sizes"
	}
	return ""
}
