package savedmodel

import (
	"path/filepath"
	"slices"
	"testing"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
)

// Nodes of old_everything: of a feature that is scaled, and of one that is looked up in a table
// with buckets behind it.
const (
	oldScaled   = "transform/scale_to_z_score/sub"
	oldQuotient = "transform/scale_to_z_score/truediv"
	oldTable    = "transform/compute_and_apply_vocabulary/apply_vocab/hash_table"
	oldFiller   = "transform/compute_and_apply_vocabulary/apply_vocab/text_file_init/InitializeTableFromTextFileV2"
)

// oldEverything returns the graph of TensorFlow 1 of that name, changed.
func oldEverything(t *testing.T, change func(*corepb.MetaGraphDef)) string {
	t.Helper()
	dir := t.TempDir()
	unzip(t, filepath.Join(transformGraphs, "old_everything.zip"), dir)
	return editedGraph(t, dir, change)
}

func topNode(t *testing.T, g *corepb.MetaGraphDef, name string) *nodepb.NodeDef {
	t.Helper()
	i := slices.IndexFunc(g.GetGraphDef().GetNode(), func(n *nodepb.NodeDef) bool { return n.GetName() == name })
	if i < 0 {
		t.Fatalf("no node %s", name)
	}
	return g.GetGraphDef().GetNode()[i]
}

func TestWhatOfTensorFlow1CannotBeServedIsNamed(t *testing.T) {
	t.Parallel()
	op := func(name, op string) func(*testing.T, *corepb.MetaGraphDef) {
		return func(t *testing.T, g *corepb.MetaGraphDef) { topNode(t, g, name).Op = op }
	}
	tests := []struct {
		name   string
		change func(*testing.T, *corepb.MetaGraphDef)
		want   string
	}{
		{"control flow", op(oldScaled, "Switch"),
			`transformed feature "x": node ` + oldScaled + `: op Switch of a graph of TensorFlow 1 can't be carried over into a function`},
		{"a variable", op("transform/scale_to_z_score/Cast", "VariableV2"), "op VariableV2 of a graph"},
		{"a table of another kind", op(oldTable, "MutableHashTableV2"),
			`transformed feature "s": node ` + oldTable + `: op MutableHashTableV2 of a graph`},
		{"a table filled by nothing", func(_ *testing.T, g *corepb.MetaGraphDef) {
			list := g.CollectionDef["table_initializer"].GetNodeList()
			list.Value = slices.DeleteFunc(list.Value, func(name string) bool { return name == oldFiller })
		}, `transformed feature "s": node ` + oldTable + " (HashTableV2): nothing fills the table"},
		{"a table filled by what is not known", func(t *testing.T, g *corepb.MetaGraphDef) {
			filler := topNode(t, g, oldFiller)
			filler.Input[1] = oldScaled
			topNode(t, g, oldScaled).Op = "TFRecordDataset"
			delete(g.SignatureDef["transform_signature"].Outputs, "x")
		}, "table " + oldTable + ": node " + oldScaled + ": op TFRecordDataset of a graph"},
		{"a feature that the signature lacks", func(_ *testing.T, g *corepb.MetaGraphDef) {
			delete(g.SignatureDef["transform_signature"].Inputs, "x")
		}, "node transform/inputs/x/x: is a placeholder that nothing is fed to"},
		{"a node that is not there", func(t *testing.T, g *corepb.MetaGraphDef) {
			topNode(t, g, oldScaled).Input[1] = "nothing"
		}, `transformed feature "x": graph has no node "nothing"`},
		{"a node behind itself", func(t *testing.T, g *corepb.MetaGraphDef) {
			topNode(t, g, oldScaled).Input[1] = "transform/scale_to_z_score/SelectV2"
		}, "needs its own output"},
		{"a node without outputs in the place of a tensor", func(t *testing.T, g *corepb.MetaGraphDef) {
			topNode(t, g, oldScaled).Input[1] = "transform/init"
		}, "node transform/init (NoOp) has no output 0"},
		{"no output of a node", func(t *testing.T, g *corepb.MetaGraphDef) {
			topNode(t, g, oldScaled).Input[1] = "nothing:x"
		}, `tensor "nothing:x"`},
		{"no signature", func(_ *testing.T, g *corepb.MetaGraphDef) { g.SignatureDef = nil }, `no signature "transform_signature"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			graph := oldEverything(t, func(g *corepb.MetaGraphDef) { tt.change(t, g) })
			_, err := writeFeatures(filepath.Join(t.TempDir(), "model"), graph)
			wantError(t, err, tt.want)
		})
	}
}

// Graphs that TensorFlow 1 itself wrote aren't all as tf.Transform writes them with TensorFlow 2:
// one node fills all tables, tables have no name to share, or are filled for nothing; nodes stand
// with others that the function leaves behind, and come after assertions, tables, inputs. The
// answers stay.
func TestOtherGraphsOfTensorFlow1AreServed(t *testing.T) {
	t.Parallel()
	graph := oldEverything(t, func(g *corepb.MetaGraphDef) {
		fillers := g.CollectionDef["table_initializer"].GetNodeList().GetValue()
		after := []string{"^fill_forgotten"}
		for _, name := range fillers {
			after = append(after, "^"+name)
		}
		delete(g.CollectionDef, "table_initializer")
		g.CollectionDef["legacy_init_op"] = nodeList("all_tables")
		g.GraphDef.Node = append(g.GraphDef.Node, &nodepb.NodeDef{Name: "all_tables", Op: "NoOp", Input: after},
			&nodepb.NodeDef{Name: "true", Op: "Const", Attr: attrs{"dtype": typeAttr(boolType), "value": tensorAttr(trueConst)}},
			&nodepb.NodeDef{Name: "checked", Op: "Assert", Input: []string{"true", "true"}, Attr: attrs{"T": typesAttr(boolType)}},
			&nodepb.NodeDef{Name: "file", Op: "Placeholder", Attr: attrs{"dtype": typeAttr(stringType), "shape": shapeAttr(shapeProto())}},
			&nodepb.NodeDef{Name: "forgotten", Op: tableOp, Attr: topNode(t, g, oldTable).Attr},
			&nodepb.NodeDef{
				Name: "fill_forgotten", Op: fillingOps[0], Input: []string{"forgotten", "file"}, Attr: topNode(t, g, oldFiller).Attr,
			})
		g.GraphDef.Versions.Producer = 134 // of TensorFlow 1.15
		delete(topNode(t, g, oldTable).Attr, "shared_name")
		scaled := topNode(t, g, oldScaled)
		scaled.Input = append(scaled.Input, "^checked", "^"+oldTable, "^"+oldFiller, "^transform/inputs/x/x")
		scaled.Attr["_class"] = placedWith("transform/scale_to_z_score/mean_and_var/sub")
	})
	model := filepath.Join(graph, "model")
	if _, err := writeFeatures(model, graph); err != nil {
		t.Fatal(err)
	}
	old := map[string]string{"model": model, "golden": filepath.Join(graph, "golden.json")}
	sameAsGolden(t, map[string]map[string]string{"old_everything": old}, 800)
}

// placedWith returns the attribute of a node that is to be placed with another.
func placedWith(name string) *attrpb.AttrValue {
	return listAttr(&attrpb.AttrValue_ListValue{S: [][]byte{[]byte(colocationPrefix + name)}})
}

const boolType = typepb.DataType_DT_BOOL

var trueConst = &tensorpb.TensorProto{Dtype: boolType, TensorShape: shapeProto(), BoolVal: []bool{true}}

// Assertions are kept, and nodes that exist before the function is called are not waited for.
func TestAssertionsOfTensorFlow1AreCarriedOver(t *testing.T) {
	t.Parallel()
	graph := oldEverything(t, func(g *corepb.MetaGraphDef) {
		g.GraphDef.Node = append(g.GraphDef.Node, &nodepb.NodeDef{Name: "checked", Op: "Assert", Input: []string{oldScaled}})
		quotient := topNode(t, g, oldQuotient)
		quotient.Attr["_class"] = placedWith(oldTable)
		quotient.Input = append(quotient.Input, "^checked", "^transform/inputs/x/x", "^"+oldTable)
	})
	g, err := readTransformGraph(graph)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(g.function.GetNodeDef(), func(n *nodepb.NodeDef) bool { return n.GetName() == oldQuotient })
	want := []string{oldScaled + ":z:0", "transform/scale_to_z_score/Sqrt:y:0", "^checked"}
	if got := g.function.GetNodeDef()[i].GetInput(); !slices.Equal(got, want) {
		t.Errorf("inputs %q, want %q", got, want)
	}
	for _, n := range g.function.GetNodeDef() {
		if n.GetAttr()["_class"] != nil || n.GetAttr()["_output_shapes"] != nil {
			t.Errorf("node %s stands where it stood", n.GetName())
		}
	}
}
