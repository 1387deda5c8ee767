package graph_test

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	graphpb "github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	opdefpb "github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/structure.py
var structureScript string

func structureOf(t *testing.T, dir string) string {
	t.Helper()
	m, err := graph.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := m.StructureDigest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// Graphs that the real tf.Transform made of two data sets: the same code has the same structure,
// whatever the data.
func TestTheStructureOfAGraphIsThatOfItsCode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tftest.Run(t, structureScript, dir, &struct{}{})
	of := func(name string) string { return structureOf(t, filepath.Join(dir, name, "transform_fn")) }
	monday := of("monday")
	for name, same := range map[string]bool{
		"again":           true,  // the same data
		"tuesday":         true,  // other data: other means, boundaries and words
		"more words":      false, // vocabulary of another size
		"another op":      false,
		"another shape":   false,
		"another feature": false,
		"another axis":    false,
	} {
		if (of(name) == monday) != same {
			t.Errorf("%s: equal is %t, want %t", name, !same, same)
		}
	}
}

// A graph as deep as it is large, one whose functions call each other in a circle, and one with a
// loop are digested.
func TestHostileGraphsAreDigested(t *testing.T) {
	t.Parallel()
	chain := &corepb.MetaGraphDef{GraphDef: chainOf(t, 200_000)}
	loop := &corepb.MetaGraphDef{GraphDef: chainOf(t, 3)}
	loop.GraphDef.Node[0].Input = []string{"n2"}
	circle := &corepb.MetaGraphDef{GraphDef: chainOf(t, 1)}
	for _, name := range []string{"f", "g"} {
		other := map[string]string{"f": "g", "g": "f"}[name]
		circle.GraphDef.Library.Function = append(circle.GraphDef.Library.Function, functionCalling(name, other))
	}
	for name, meta := range map[string]*corepb.MetaGraphDef{"chain": chain, "loop": loop, "circle": circle} {
		meta.MetaInfoDef = &corepb.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}}
		data, err := proto.Marshal(&corepb.SavedModel{MetaGraphs: []*corepb.MetaGraphDef{meta}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := graph.Parse(t.TempDir(), data)
		if err != nil {
			t.Fatal(err)
		}
		if digest, err := m.StructureDigest(); err != nil || len(digest) != 64 {
			t.Errorf("%s: %q, %v", name, digest, err)
		}
	}
}

func TestAVocabularyThatIsGoneIsNamed(t *testing.T) {
	t.Parallel()
	meta := &corepb.MetaGraphDef{
		MetaInfoDef: &corepb.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}}, GraphDef: chainOf(t, 1),
		AssetFileDef: []*corepb.AssetFileDef{{Filename: "../../words.txt"}},
	}
	data, err := proto.Marshal(&corepb.SavedModel{MetaGraphs: []*corepb.MetaGraphDef{meta}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// The file to which the path would lead from model/assets.
	if err := os.WriteFile(filepath.Join(dir, "words.txt"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := graph.Parse(filepath.Join(dir, "model"), data)
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := m.StructureDigest(); err == nil {
		t.Errorf("digest %s of a graph whose vocabulary is gone", digest)
	}
}

// chainOf returns a chain of operations.
func chainOf(t *testing.T, n int) *graphpb.GraphDef {
	t.Helper()
	g := &graphpb.GraphDef{Library: &functionpb.FunctionDefLibrary{}}
	for i := range n {
		node := &nodepb.NodeDef{Name: fmt.Sprint("n", i), Op: "Identity"}
		if i > 0 {
			node.Input = []string{fmt.Sprint("n", i-1)}
		}
		g.Node = append(g.Node, node)
	}
	return g
}

func functionCalling(name, other string) *functionpb.FunctionDef {
	call := &attrpb.AttrValue{Value: &attrpb.AttrValue_Func{Func: &attrpb.NameAttrList{Name: other}}}
	return &functionpb.FunctionDef{
		Signature: &opdefpb.OpDef{Name: name},
		NodeDef:   []*nodepb.NodeDef{{Name: "call", Op: "PartitionedCall", Attr: map[string]*attrpb.AttrValue{"f": call}}},
	}
}
