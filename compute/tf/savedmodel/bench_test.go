package savedmodel

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
)

// BenchmarkWrite exports a model behind the transform graph of the taxi data set, tables and assets included.
func BenchmarkWrite(b *testing.B) {
	dir := b.TempDir()
	m := tower()
	m.Graph.Inputs[0].Name, m.Graph.Inputs = "trip_miles_xf", m.Graph.Inputs[:1]
	m.Graph.Nodes = m.Graph.Nodes[:1]
	m.Graph.Nodes[0].In[0] = "trip_miles_xf"
	m.Graph.Outputs = []nn.Output{{Name: "centred", Node: "centred", Width: 1}}
	m.TransformGraph = filepath.Join("testdata", "taxi", "transform_graph")
	for i := 0; b.Loop(); i++ {
		if err := Write(filepath.Join(dir, strconv.Itoa(i)), m); err != nil {
			b.Fatal(err)
		}
	}
}
