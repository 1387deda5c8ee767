package savedmodel

import (
	"archive/zip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// archived returns a file of an archive.
func archived(archive, name string) ([]byte, error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	return fs.ReadFile(z, name)
}

func FuzzTransformGraph(f *testing.F) {
	for _, name := range []string{"penguin", "taxi"} {
		data, err := os.ReadFile(filepath.Join("testdata", name, "transform_graph", "transform_fn", "saved_model.pb"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, name := range []string{"old_everything", "old_bucketize"} { // of TensorFlow 1
		data, err := archived(filepath.Join(transformGraphs, name+".zip"), "transform_fn/saved_model.pb")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	dir := filepath.Join("testdata", "taxi", "transform_graph", "transform_fn")
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := graph.Parse(dir, data)
		if err != nil {
			return
		}
		g, err := newTransformGraph(m, nil)
		if err != nil {
			return
		}
		b, err := newBuilder(tower())
		if err != nil {
			t.Fatal(err)
		}
		if err := b.addTransform(g); err != nil {
			return
		}
		if _, err := b.finish(); err != nil && !errors.Is(err, proto.Error) {
			t.Fatal(err)
		}
	})
}
