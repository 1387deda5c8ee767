package inspect

import (
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// Port is an input or an output of a function: a name, and the tensors that stand behind it.
type Port struct {
	Name   string `json:"name"`
	Type   string `json:"type"`   // float32, int64, string ...
	Shape  string `json:"shape"`  // [?, 4]: ? is any size. "" where not even the rank is known
	Layout string `json:"layout"` // dense, sparse or ragged
}

var layouts = map[graph.Layout]string{graph.Dense: "dense", graph.Sparse: "sparse", graph.Ragged: "ragged"}

func ports(specs []graph.Spec) []Port {
	ports := []Port{}
	for _, s := range specs {
		ports = append(ports, Port{Name: s.Name, Type: typeName(s.DType.String()), Shape: shapeText(s.Shape), Layout: layouts[s.Layout]})
	}
	return ports
}

// typeName is TensorFlow's Python name of a type: DT_FLOAT is float32.
func typeName(dtype string) string {
	switch name := strings.ToLower(strings.TrimPrefix(dtype, "DT_")); name {
	case "float":
		return "float32"
	case "double":
		return "float64"
	case "half":
		return "float16"
	default:
		return name
	}
}

func shapeText(shape []int) string {
	if shape == nil {
		return ""
	}
	sizes := make([]string, len(shape))
	for i, size := range shape {
		sizes[i] = fmt.Sprint(size)
		if size < 0 {
			sizes[i] = "?"
		}
	}
	return "[" + strings.Join(sizes, ", ") + "]"
}

// opCounts counts the ops of a graph and of all its functions.
func opCounts(m *graph.Model) map[string]int {
	counts := map[string]int{}
	g := m.Meta.GetGraphDef()
	for _, n := range g.GetNode() {
		counts[n.GetOp()]++
	}
	for _, f := range g.GetLibrary().GetFunction() {
		for _, n := range f.GetNodeDef() {
			counts[n.GetOp()]++
		}
	}
	return counts
}
