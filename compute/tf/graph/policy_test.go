package graph_test

import (
	"archive/zip"
	"errors"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	graphpb "github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	opdefpb "github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	variablepb "github.com/wamuir/graft/tensorflow/core/framework/variable_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/graph"
)

// Graphs of tf.Transform and Keras, of TensorFlow 1 and 2, with savers, vocabularies in text and in
// records, have allowed ops only.
func TestOpsOfGraphsThatTensorFlowSavedAreAllowed(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, dir := range []string{
		"savedmodel/testdata/penguin/model", "savedmodel/testdata/penguin/transform_graph/transform_fn",
		"savedmodel/testdata/taxi/transform_graph/transform_fn", "warmstart/testdata/penguin/model/Format-Serving",
	} {
		m, err := graph.Open(filepath.Join("..", filepath.FromSlash(dir)))
		if err != nil {
			t.Fatal(err)
		}
		allowed(t, dir, m)
		checked++
	}
	graphs, err := filepath.Glob(filepath.Join("..", "transform", "testdata", "graphs", "*.zip"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range graphs {
		archive, err := zip.OpenReader(path)
		if err != nil {
			t.Fatal(err)
		}
		data, err := fs.ReadFile(archive, "transform_fn/saved_model.pb")
		archive.Close()
		if err != nil {
			t.Fatal(err)
		}
		m, err := graph.Parse("nowhere", data)
		if err != nil {
			t.Fatal(err)
		}
		allowed(t, filepath.Base(path), m)
		checked++
	}
	if checked < 60 {
		t.Errorf("%d graphs were checked", checked)
	}
}

func allowed(t *testing.T, name string, m *graph.Model) {
	t.Helper()
	if err := m.CheckOps(graph.Policy{}); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// A graph that reaches a file, a script or the network is refused, wherever in it that op stands.
func TestOpsThatReachFilesScriptsAndTheNetworkAreRefused(t *testing.T) {
	t.Parallel()
	text := func(name, value string) *nodepb.NodeDef { return textNode(name, value) }
	node := func(name, op string, in ...string) *nodepb.NodeDef {
		return &nodepb.NodeDef{Name: name, Op: op, Input: in}
	}
	out := func(in ...string) *nodepb.NodeDef { return node("out", "Identity", in...) }
	library := func(list ...*functionpb.FunctionDef) *functionpb.FunctionDefLibrary {
		return &functionpb.FunctionDefLibrary{Function: list}
	}
	same := []typepb.DataType{typepb.DataType_DT_BOOL}
	loop := func(name string) *nodepb.NodeDef {
		return &nodepb.NodeDef{Name: name, Op: "While", Input: []string{"true"}, Attr: attrs(map[string]any{"cond": "same", "body": "body", "T": same})}
	}
	table := node("table", "HashTableV2")
	fill := node("fill", "InitializeTableFromTextFileV2", "table", "path")
	asset := []*corepb.AssetFileDef{{TensorInfo: tensorAt("path:0"), Filename: "words.txt"}}
	for name, c := range map[string]struct {
		meta *corepb.MetaGraphDef
		want []string // in the error; none: it is allowed
	}{
		"arithmetic": {meta: served(truth, out("true"))},
		"a file that is read, and one that is written behind a control edge": {
			meta: served(text("from", "/proc/self/environ"), text("to", "/tmp/x"), node("read", "ReadFile", "from"),
				node("write", "WriteFile", "to", "read"), out("from", "^write")),
			want: []string{`node "read": op "ReadFile"`, `node "write": op "WriteFile"`},
		},
		"Python in a function of a function": {
			meta: withLibrary(served(truth, call("c", "outer", "true"), out("c")), library(
				ofBool("outer", "c:output:0", call("c", "inner", "x")), ofBool("inner", "p:output:0", node("p", "EagerPyFunc", "x")))),
			want: []string{`function "inner", node "p": op "EagerPyFunc"`},
		},
		"a body of a loop": {
			meta: withLibrary(served(truth, loop("w"), out("w")), library(ofBool("same", "x"), ofBool("body", "x", node("glob", "MatchingFiles", "x")))),
			want: []string{`function "body", node "glob": op "MatchingFiles"`},
		},
		"a function that nothing calls": {
			meta: withLibrary(served(truth, out("true")), library(ofBool("idle", "x", node("r", "RemoteCall", "x")))),
			want: []string{`function "idle", node "r": op "RemoteCall"`},
		},
		"an op that nobody knows":     {meta: served(truth, node("own", "MyCustomOp", "true"), out("own")), want: []string{`op "MyCustomOp"`}},
		"an op that ends the process": {meta: served(truth, node("end", "Abort"), out("true", "^end")), want: []string{`op "Abort"`}},
		"memory of a file":            {meta: served(node("m", "ImmutableConst"), out("m")), want: []string{`op "ImmutableConst"`}},
		"a call as TensorFlow 1 has it": {
			meta: withLibrary(served(truth, node("c", "inner", "true"), out("c")), library(ofBool("inner", "x"))),
		},
		"a vocabulary that is an asset": {
			meta: initialised(asset, text("path", "/anywhere/words.txt"), table, fill, truth, out("true")),
		},
		"a vocabulary that is another output of an asset's node": {
			meta: initialised(asset, text("both", "/etc/passwd"), node("path", "Unpack", "both"), table,
				node("fill", "InitializeTableFromTextFileV2", "table", "path:1"), truth, out("true")),
			want: []string{`node "fill": op "InitializeTableFromTextFileV2" reads a file that isn't an asset`},
		},
		"a vocabulary of a node whose other output is an asset": {
			meta: initialised([]*corepb.AssetFileDef{{TensorInfo: tensorAt("path:1"), Filename: "words.txt"}}, text("both", "/etc/passwd"),
				node("path", "Unpack", "both"), table, fill, truth, out("true")),
			want: []string{`node "fill": op "InitializeTableFromTextFileV2" reads a file that isn't an asset`},
		},
		"a saver that reads another output of the path's node": {
			meta: withSaver(served(truth, out("true"), text("both", "/home/x/model"), node("prefix", "Unpack", "both"),
				node("restore", "RestoreV2", "prefix:1"), node("save", "SaveV2", "prefix"))),
			want: []string{`node "restore": op "RestoreV2" restores from a path that isn't`},
		},
		"a vocabulary that isn't": {
			meta: initialised(nil, text("path", "/etc/passwd"), table, fill, truth, out("true")),
			want: []string{`node "fill": op "InitializeTableFromTextFileV2" reads a file that isn't an asset`},
		},
		"an asset outside of its folder": {
			meta: initialised([]*corepb.AssetFileDef{{TensorInfo: tensorAt("path:0"), Filename: "../../key"}}, text("path", "x"), table, fill, truth, out("true")),
			want: []string{`"../../key" is outside of its folder`},
		},
		"a vocabulary that a request reads": {
			meta: withAssets(asset, served(text("path", "/etc/passwd"), table, fill, truth, out("true", "^fill"))),
			want: []string{`node "fill": op "InitializeTableFromTextFileV2" reads a file that isn't an asset`},
		},
		"a path that a loop changes": {
			meta: withLibrary(initialised(asset, text("path", "x"), table, truth, out("true"), &nodepb.NodeDef{
				Name: "fill", Op: "While", Input: []string{"path"}, Attr: attrs(map[string]any{"cond": "same", "body": "body", "T": same}),
			}), library(ofBool("same", "x"), ofBool("body", "x", node("f", "InitializeTableFromTextFileV2", "x", "x")))),
			want: []string{`function "body", node "f": op "InitializeTableFromTextFileV2" reads a file that isn't an asset`},
		},
		"a path next to an asset": {
			meta: withLibrary(initialised(asset, text("path", "x"), text("secret", "/etc/passwd"), truth, out("true"),
				node("rows", "TensorSliceDataset", "path", "secret"), &nodepb.NodeDef{
					Name: "fill", Op: "FlatMapDataset", Input: []string{"rows", "path"}, Attr: attrs(map[string]any{"f": "read"}),
				}), library(ofBool("read", "r:handle:0", node("r", "TFRecordDataset", "x")))),
			want: []string{`op "TFRecordDataset" reads a file that isn't an asset`},
		},
		"records that tf.Transform made in its temporary folder": {
			meta: initialised(asset, text("path", "x"), text("made", "/tmp/a/tftransform_tmp/words.txt"), node("fill", "TFRecordDataset", "made"), truth, out("true")),
		},
		"records of another file system": {
			meta: initialised(asset, text("path", "x"), text("made", "gs://b/tftransform_tmp/words.txt"), node("fill", "TFRecordDataset", "made"), truth, out("true")),
			want: []string{`node "fill": op "TFRecordDataset" reads a file that isn't an asset`},
		},
		"a text whose packed content is another": {
			meta: served(packed("text", "good", "\x0b/etc/passwd"), truth, out("true")),
			want: []string{`node "text": op "Const" has strings in tensor_content`},
		},
		"a list of texts whose packed content is another": {
			meta: served(truth, &nodepb.NodeDef{Name: "out", Op: "Identity", Input: []string{"true"}, Attr: map[string]*attrpb.AttrValue{
				"texts": {Value: &attrpb.AttrValue_List{List: &attrpb.AttrValue_ListValue{Tensor: []*tensorpb.TensorProto{packed("", "", "\x01x").Attr["value"].GetTensor()}}}},
			}}),
			want: []string{`node "out": op "Identity" has strings in tensor_content`},
		},
		"a saver": {
			meta: withSaver(served(truth, out("true"), text("prefix", "model"), node("restore", "RestoreV2", "prefix"), node("save", "SaveV2", "prefix"))),
		},
		"a saver that reads another checkpoint": {
			meta: withSaver(served(truth, out("true"), text("prefix", "model"), text("other", "/home/x/model"), node("restore", "RestoreV2", "other"), node("save", "SaveV2", "prefix"))),
			want: []string{`node "restore": op "RestoreV2" restores from a path that isn't`},
		},
		"a request that saves": {
			meta: withSaver(served(truth, text("prefix", "/etc/x"), node("restore", "RestoreV2", "prefix"), node("save", "SaveV2", "prefix"), out("true", "^save"))),
			want: []string{`node "save": op "SaveV2" reads or writes checkpoints`},
		},
		"a restore that saves": {
			meta: withSaver(served(truth, out("true"), text("prefix", "model"), text("other", "/home/x/y"), node("write", "SaveV2", "other"),
				node("restore", "NoOp", "^write"), node("save", "Identity", "prefix"))),
			want: []string{`node "write": op "SaveV2" writes files, and is run when the model is restored`},
		},
		"a restore that saves in a function": {
			meta: withLibrary(withSaver(served(truth, out("true"), text("prefix", "model"), call("restore", "both", "prefix"), call("save", "both", "prefix"))),
				library(ofBool("both", "x", node("merge", "MergeV2Checkpoints", "x", "x")))),
			want: []string{`function "both", node "merge": op "MergeV2Checkpoints" writes files`},
		},
		"savers of TensorFlow 2": {
			meta: withLibrary(withSaver(served(truth, out("true"), text("prefix", "model"), call("restore", "restored", "prefix"), call("save", "saved", "prefix"))),
				library(ofBool("restored", "x", node("r", "RestoreV2", "x")), ofBool("saved", "x", node("s", "SaveV2", "x"), node("m", "MergeV2Checkpoints", "x", "^s")))),
		},
		"a vocabulary that a restore reads": {
			meta: withAssets(asset, withSaver(served(truth, out("true"), text("prefix", "model"), text("path", "/etc/passwd"), table, fill,
				node("restore", "NoOp", "^fill"), node("save", "SaveV2", "prefix")))),
			want: []string{`node "fill": op "InitializeTableFromTextFileV2" reads a file that isn't an asset`},
		},
		"a local variable whose initializer saves": {
			meta: withLocalVariable(withSaver(served(truth, out("true"), text("prefix", "model"), node("write", "SaveV2", "prefix"),
				node("initializer", "NoOp", "^write"), node("restore", "NoOp"), node("save", "Identity", "write")))),
			want: []string{`node "write": op "SaveV2" reads or writes checkpoints`},
		},
		"prints to a file": {
			meta: served(truth, &nodepb.NodeDef{Name: "p", Op: "PrintV2", Input: []string{"true"}, Attr: map[string]*attrpb.AttrValue{
				"output_stream": {Value: &attrpb.AttrValue_S{S: []byte("file:///tmp/x")}},
			}}, out("true", "^p")),
			want: []string{`op "PrintV2" prints`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := parsed(t, t.TempDir(), c.meta)
			err := m.CheckOps(graph.Policy{})
			if len(c.want) == 0 && err != nil {
				t.Errorf("is refused: %v", err)
			}
			for _, want := range c.want {
				if !errors.Is(err, graph.ErrOps) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "saved_model.pb") {
					t.Errorf("error is %v, want one that says %s", err, want)
				}
			}
		})
	}
}

// TensorFlow and the check must mean the same function, and the same node, by a name.
func TestAmbiguousNamesOfAGraphAreRefused(t *testing.T) {
	t.Parallel()
	node := func(name, op string, in ...string) *nodepb.NodeDef {
		return &nodepb.NodeDef{Name: name, Op: op, Input: in}
	}
	for name, c := range map[string]struct {
		library []*functionpb.FunctionDef
		nodes   []*nodepb.NodeDef
		want    string
	}{
		"a function without a name that hides the graph": {
			library: []*functionpb.FunctionDef{ofBool("", "x")},
			nodes:   []*nodepb.NodeDef{node("read", "ReadFile", "true"), node("out", "Identity", "read")}, want: "function 0 of the library has no name",
		},
		"two functions of one name": {
			library: []*functionpb.FunctionDef{ofBool("g", "r:contents:0", node("r", "ReadFile", "x")), ofBool("g", "x")},
			nodes:   []*nodepb.NodeDef{call("c", "g", "true"), node("out", "Identity", "c")}, want: `two functions of the name "g"`,
		},
		"a function with the name of an op": {
			library: []*functionpb.FunctionDef{ofBool("Identity", "x")},
			nodes:   []*nodepb.NodeDef{node("out", "Identity", "true")}, want: `function "Identity" has the name of an op`,
		},
		"two nodes of one name": {
			nodes: []*nodepb.NodeDef{node("out", "NoOp"), node("out", "Identity", "true")}, want: "the same name",
		},
		"an argument with the name of a node": {
			library: []*functionpb.FunctionDef{ofBool("g", "x", node("x", "Const"))},
			nodes:   []*nodepb.NodeDef{call("c", "g", "true"), node("out", "Identity", "c")}, want: `argument "x" has the name of a node`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			meta := withLibrary(served(append(c.nodes, truth)...), &functionpb.FunctionDefLibrary{Function: c.library})
			if err := parsed(t, t.TempDir(), meta).CheckOps(graph.Policy{}); !errors.Is(err, graph.ErrOps) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one that says %s", err, c.want)
			}
		})
	}
}

// A function may be called by more than nodes: by objects of the model, as a gradient, in the place
// of another.
func TestFunctionsAreCheckedForEachCaller(t *testing.T) {
	t.Parallel()
	node := func(name, op string, in ...string) *nodepb.NodeDef {
		return &nodepb.NodeDef{Name: name, Op: op, Input: in}
	}
	save, fill := node("s", "SaveV2", "x"), node("f", "InitializeTableFromTextFileV2", "x", "x")
	bare := func(name string) []*corepb.SavedObject {
		return []*corepb.SavedObject{{Kind: &corepb.SavedObject_BareConcreteFunction{BareConcreteFunction: &corepb.SavedBareConcreteFunction{ConcreteFunctionName: name}}}}
	}
	text := func(value string) *attrpb.AttrValue {
		return &attrpb.AttrValue{Value: &attrpb.AttrValue_S{S: []byte(value)}}
	}
	asset := []*corepb.AssetFileDef{{TensorInfo: tensorAt("path:0"), Filename: "words.txt"}}
	type change func(*corepb.MetaGraphDef, *functionpb.FunctionDef)
	ways := map[string]change{
		"nothing names it": func(*corepb.MetaGraphDef, *functionpb.FunctionDef) {},
		"an object names it, and no concrete function is of its name": func(meta *corepb.MetaGraphDef, _ *functionpb.FunctionDef) {
			meta.ObjectGraphDef = &corepb.SavedObjectGraph{Nodes: bare("evil")}
		},
		"a function of objects has it": func(meta *corepb.MetaGraphDef, _ *functionpb.FunctionDef) {
			meta.ObjectGraphDef = &corepb.SavedObjectGraph{Nodes: []*corepb.SavedObject{{Kind: &corepb.SavedObject_Function{
				Function: &corepb.SavedFunction{ConcreteFunctions: []string{"evil"}},
			}}}}
		},
		"it is a gradient": func(meta *corepb.MetaGraphDef, _ *functionpb.FunctionDef) {
			meta.GraphDef.Library.Gradient = []*functionpb.GradientDef{{FunctionName: "good", GradientFunc: "evil"}}
		},
		"it is a registered gradient": func(meta *corepb.MetaGraphDef, _ *functionpb.FunctionDef) {
			meta.GraphDef.Library.RegisteredGradients = []*functionpb.RegisteredGradient{{GradientFunc: "evil", RegisteredOpType: "Own"}}
		},
		"it implements what another does": func(_ *corepb.MetaGraphDef, evil *functionpb.FunctionDef) {
			evil.Attr = map[string]*attrpb.AttrValue{"api_implements": text("good")}
		},
		"an attribute of a function names it": func(meta *corepb.MetaGraphDef, _ *functionpb.FunctionDef) {
			meta.GraphDef.Library.Function[0].Attr = map[string]*attrpb.AttrValue{"backward_function_name": text("evil")}
		},
		"an attribute of a node names it": func(meta *corepb.MetaGraphDef, _ *functionpb.FunctionDef) {
			meta.GraphDef.Node[0].Attr["_backward_function_name"] = text("evil")
		},
	}
	for way, change := range ways {
		for name, c := range map[string]struct {
			body  *nodepb.NodeDef
			saver bool // calls it too
			path  bool // the initializer calls it too, with the path of an asset
			want  string
		}{
			"that writes":                   {body: save, want: `function "evil", node "s": op "SaveV2" reads or writes checkpoints`},
			"that the saver calls too":      {body: save, saver: true, want: `function "evil", node "s": op "SaveV2" reads or writes checkpoints`},
			"that reads":                    {body: fill, want: `function "evil", node "f": op "InitializeTableFromTextFileV2" reads a file that isn't an asset`},
			"that reads also when it loads": {body: fill, path: true, want: `function "evil", node "f": op "InitializeTableFromTextFileV2" reads a file that isn't an asset`},
		} {
			t.Run(way+" "+name, func(t *testing.T) {
				t.Parallel()
				evil := ofBool("evil", "x", proto.CloneOf(c.body))
				nodes := []*nodepb.NodeDef{call("out", "good", "path"), textNode("path", "x"), textNode("prefix", "model"), node("restore", "NoOp"), node("save", "NoOp")}
				if c.saver {
					nodes[4] = call("save", "evil", "prefix")
				}
				meta := withSaver(served(nodes...))
				if c.path {
					nodes = append(nodes, call("fill", "evil", "path"))
					meta = withSaver(initialised(asset, nodes...))
				}
				withLibrary(meta, &functionpb.FunctionDefLibrary{Function: []*functionpb.FunctionDef{ofBool("good", "x"), evil}})
				change(meta, evil)
				err := parsed(t, t.TempDir(), meta).CheckOps(graph.Policy{})
				if way == "nothing names it" && (c.saver || c.path) {
					if err != nil {
						t.Errorf("is refused: %v", err)
					}
				} else if !errors.Is(err, graph.ErrOps) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error is %v, want one that says %s", err, c.want)
				}
			})
		}
	}
}

// The value by which a call replaces a placeholder wasn't checked, so that no placeholder may be a
// text, a function or a tensor.
func TestPlaceholdersOfAttributesAreTypesAndShapesOnly(t *testing.T) {
	t.Parallel()
	placeholder := func(name string) *attrpb.AttrValue {
		return &attrpb.AttrValue{Value: &attrpb.AttrValue_Placeholder{Placeholder: name}}
	}
	function := func(inner *attrpb.AttrValue) *attrpb.NameAttrList {
		return &attrpb.NameAttrList{Name: "other", Attr: map[string]*attrpb.AttrValue{"T": inner}}
	}
	const refused = "whose value is the placeholder"
	for name, c := range map[string]struct {
		op, attr string
		value    *attrpb.AttrValue
		kind     string // of the function's attribute a
		graph    bool   // the node is of the graph itself
		want     string
	}{
		"a type":                      {op: "Identity", attr: "T", value: placeholder("a"), kind: "type"},
		"types":                       {op: "IdentityN", attr: "T", value: placeholder("a"), kind: "list(type)"},
		"a shape":                     {op: "Placeholder", attr: "shape", value: placeholder("a"), kind: "shape"},
		"shapes":                      {op: "Placeholder", attr: "shapes", value: placeholder("a"), kind: "list(shape)"},
		"the stream of a print":       {op: "PrintV2", attr: "output_stream", value: placeholder("a"), kind: "string", want: refused},
		"the function of a call":      {op: "PartitionedCall", attr: "f", value: placeholder("a"), kind: "func", want: refused},
		"the name of a variable":      {op: "VarHandleOp", attr: "shared_name", value: placeholder("a"), kind: "string", want: refused},
		"a tensor":                    {op: "Const", attr: "value", value: placeholder("a"), kind: "tensor", want: refused},
		"of no attribute":             {op: "PrintV2", attr: "output_stream", value: placeholder("b"), kind: "type", want: refused},
		"of the graph":                {op: "Identity", attr: "T", value: placeholder("a"), kind: "type", graph: true, want: refused},
		"an op that the operator has": {op: "Own", attr: "path", value: placeholder("a"), kind: "string", want: refused},
		"a type for another function": {op: "PartitionedCall", attr: "f", kind: "type", value: &attrpb.AttrValue{Value: &attrpb.AttrValue_Func{Func: function(placeholder("a"))}}},
		"a text for another function": {op: "PartitionedCall", attr: "f", kind: "string", want: refused, value: &attrpb.AttrValue{Value: &attrpb.AttrValue_Func{Func: function(placeholder("a"))}}},
		"a text for a list of functions": {op: "Case", attr: "branches", kind: "string", want: refused, value: &attrpb.AttrValue{Value: &attrpb.AttrValue_List{
			List: &attrpb.AttrValue_ListValue{Func: []*attrpb.NameAttrList{function(placeholder("a"))}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &nodepb.NodeDef{Name: "n", Op: c.op, Input: []string{"x"}, Attr: map[string]*attrpb.AttrValue{c.attr: c.value}}
			g := ofBool("g", "x", n)
			g.Signature.Attr = []*opdefpb.OpDef_AttrDef{{Name: "a", Type: c.kind}}
			nodes := []*nodepb.NodeDef{truth, call("out", "g", "true")}
			if c.graph {
				g.NodeDef, n.Input, nodes = nil, []string{"true"}, append(nodes, n)
			}
			meta := withLibrary(served(nodes...), &functionpb.FunctionDefLibrary{Function: []*functionpb.FunctionDef{g, ofBool("other", "x")}})
			err := parsed(t, t.TempDir(), meta).CheckOps(graph.Policy{Extra: []string{"Own"}})
			if c.want == "" && err != nil {
				t.Errorf("is refused: %v", err)
			}
			if c.want != "" && (!errors.Is(err, graph.ErrOps) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error is %v, want one that says %s", err, c.want)
			}
		})
	}
}

func TestTheOperatorAllowsMoreOps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := parsed(t, dir, served(truth, &nodepb.NodeDef{Name: "own", Op: "MyCustomOp", Input: []string{"true"}}, &nodepb.NodeDef{Name: "out", Op: "Identity", Input: []string{"own"}}))
	err := m.CheckOps(graph.Policy{Help: "set graph_ops"})
	refused, ok := errors.AsType[*graph.OpsError](err)
	if !ok || len(refused.Refused) != 1 || refused.Refused[0].Op != "MyCustomOp" || !strings.HasSuffix(err.Error(), "; set graph_ops") {
		t.Errorf("error %v", err)
	}
	if err := m.CheckOps(graph.Policy{Extra: []string{"MyCustomOp"}}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "saved_model.cpb"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.CheckOps(graph.Policy{Extra: []string{"MyCustomOp"}}); !errors.Is(err, graph.ErrOps) {
		t.Errorf("error %v, want one of the second file", err)
	}
}

// The graph that isn't served is checked too.
func TestAllGraphsOfASavedModelAreChecked(t *testing.T) {
	t.Parallel()
	bad := served(truth, &nodepb.NodeDef{Name: "read", Op: "ReadFile", Input: []string{"true"}})
	bad.MetaInfoDef = &corepb.MetaGraphDef_MetaInfoDef{Tags: []string{"eval"}}
	m := parsed(t, t.TempDir(), served(truth), bad)
	if err := m.CheckOps(graph.Policy{}); !errors.Is(err, graph.ErrOps) {
		t.Errorf("error %v", err)
	}
}

func TestNoOpOfTheListReachesBeyondTheProcess(t *testing.T) {
	t.Parallel()
	list := graph.PureOps()
	if len(list) < 900 {
		t.Errorf("%d ops", len(list))
	}
	for _, op := range []string{ // of TensorFlow 2.21
		"Abort", "CacheDataset", "CacheDatasetV2", "CollectiveReduceV2", "Copy", "CreateSummaryDbWriter", "CreateSummaryFileWriter",
		"CSVDataset", "DataServiceDataset", "DatasetFromGraph", "DebugIdentity", "DebugIdentityV3", "DecodeProtoV2", "DeserializeIterator",
		"EagerPyFunc", "EncodeProto", "FixedUnigramCandidateSampler", "FileSystemSetConfiguration", "FixedLengthRecordDatasetV2", "GenerateVocabRemapping",
		"IdentityReaderV2", "ImmutableConst", "IteratorFromStringHandle", "LMDBDataset", "LMDBReader", "ListDataset", "LoadAndRemapMatrix",
		"LoadDataset", "MatchingFiles", "MatchingFilesDataset", "NcclAllReduce", "PyFunc", "PyFuncStateless", "ReadFile", "Recv", "RemoteCall",
		"Restore", "RestoreSlice", "Save", "SaveDataset", "SaveDatasetV2", "SaveSlices", "SdcaOptimizer", "Send", "SnapshotDataset",
		"SqlDataset", "TFRecordReaderV2", "TPUExecute", "TextLineDataset", "TextLineReader", "WholeFileReaderV2", "WriteFile", "WriteScalarSummary",
		"XlaLaunch", "_Recv", "_Send",
	} {
		if slices.Contains(list, op) {
			t.Errorf("%s is allowed", op)
		}
	}
	// An attribute or an input that is a file, a device or an address, by its name in TensorFlow's
	// definition of the op.
	definitions, found := definedTexts(t), 0
	reaches := regexp.MustCompile(`file|path|dir|url|address|server|stream$|host|script|library`)
	for _, op := range list {
		for _, name := range definitions[op] {
			if found++; reaches.MatchString(name) {
				t.Errorf("%s is allowed, and has %s", op, name)
			}
		}
	}
	if len(definitions) < 500 || found < 1000 || !slices.Contains(definitions["FixedUnigramCandidateSampler"], "vocab_file") ||
		!slices.Contains(definitions["ReadFile"], "filename") || !slices.Contains(definitions["PrintV2"], "output_stream") {
		t.Errorf("found %d definitions of ops, and %d names of those listed", len(definitions), found)
	}
}

// definedTexts returns the names of the inputs and the text attributes of each op, as TensorFlow's
// own Go functions of them have it. They are generated from the definitions of the ops.
func definedTexts(t *testing.T) map[string][]string {
	t.Helper()
	pkg, err := build.Import("github.com/wamuir/graft/tensorflow/op", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(pkg.Dir, "wrappers.go"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]string{}
	inputs := regexp.MustCompile(`(\w+) (?:\[\])?(?:tf\.Output|string)\b`)
	for _, f := range regexp.MustCompile(`(?m)^func (\w+)\(scope \*Scope(.*?)\) (?:\(|\{)`).FindAllStringSubmatch(string(source), -1) {
		texts[f[1]] = append(texts[f[1]], "")
		for _, in := range inputs.FindAllStringSubmatch(f[2], -1) {
			texts[f[1]] = append(texts[f[1]], in[1])
		}
	}
	optional := regexp.MustCompile(`(?m)^func \w+\(value (?:\[\])?string\) (\w+)Attr \{\n.*\n\s*m\["(\w+)"\] = value`)
	for _, f := range optional.FindAllStringSubmatch(string(source), -1) {
		texts[f[1]] = append(texts[f[1]], f[2])
	}
	return texts
}

func textNode(name, value string) *nodepb.NodeDef {
	return &nodepb.NodeDef{Name: name, Op: "Const", Attr: attrs(map[string]any{"value": &tensorpb.TensorProto{
		Dtype: typepb.DataType_DT_STRING, TensorShape: &shapepb.TensorShapeProto{}, StringVal: [][]byte{[]byte(value)},
	}})}
}

// packed returns a textNode with a tensor_content besides.
func packed(name, value, content string) *nodepb.NodeDef {
	n := textNode(name, value)
	n.Attr["value"].GetTensor().TensorContent = []byte(content)
	return n
}

func tensorAt(reference string) *corepb.TensorInfo {
	return &corepb.TensorInfo{Encoding: &corepb.TensorInfo_Name{Name: reference}}
}

// served returns a graph whose signature gives the tensor out.
func served(nodes ...*nodepb.NodeDef) *corepb.MetaGraphDef {
	return &corepb.MetaGraphDef{
		MetaInfoDef:  &corepb.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}},
		GraphDef:     &graphpb.GraphDef{Node: nodes},
		SignatureDef: map[string]*corepb.SignatureDef{"f": {Outputs: map[string]*corepb.TensorInfo{"y": tensorAt("out:0")}}},
	}
}

func withLibrary(meta *corepb.MetaGraphDef, library *functionpb.FunctionDefLibrary) *corepb.MetaGraphDef {
	meta.GraphDef.Library = library
	return meta
}

func withAssets(assets []*corepb.AssetFileDef, meta *corepb.MetaGraphDef) *corepb.MetaGraphDef {
	meta.AssetFileDef = assets
	return meta
}

// initialised returns a graph that runs the node fill when it is loaded.
func initialised(assets []*corepb.AssetFileDef, nodes ...*nodepb.NodeDef) *corepb.MetaGraphDef {
	meta := withAssets(assets, served(nodes...))
	meta.CollectionDef = map[string]*corepb.CollectionDef{"saved_model_main_op": {
		Kind: &corepb.CollectionDef_NodeList_{NodeList: &corepb.CollectionDef_NodeList{Value: []string{"fill"}}},
	}}
	return meta
}

// withSaver returns a graph whose saver is its nodes prefix, restore and save.
func withSaver(meta *corepb.MetaGraphDef) *corepb.MetaGraphDef {
	meta.SaverDef = &corepb.SaverDef{FilenameTensorName: "prefix:0", RestoreOpName: "restore", SaveTensorName: "save:0"}
	return meta
}

// withLocalVariable returns a graph with a local variable that its node initializer sets.
func withLocalVariable(meta *corepb.MetaGraphDef) *corepb.MetaGraphDef {
	data, err := proto.Marshal(&variablepb.VariableDef{VariableName: "v:0", InitializerName: "initializer"})
	if err != nil {
		panic(err)
	}
	meta.CollectionDef = map[string]*corepb.CollectionDef{"local_variables": {
		Kind: &corepb.CollectionDef_BytesList_{BytesList: &corepb.CollectionDef_BytesList{Value: [][]byte{data}}},
	}}
	return meta
}

func parsed(t *testing.T, dir string, graphs ...*corepb.MetaGraphDef) *graph.Model {
	t.Helper()
	data, err := proto.Marshal(&corepb.SavedModel{MetaGraphs: graphs})
	if err != nil {
		t.Fatal(err)
	}
	m, err := graph.Parse(dir, data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
