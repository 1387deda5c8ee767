package graph_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	graphpb "github.com/wamuir/graft/tensorflow/core/framework/graph_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	opdefpb "github.com/wamuir/graft/tensorflow/core/framework/op_def_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	shapepb "github.com/wamuir/graft/tensorflow/core/framework/tensor_shape_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/graph"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

const (
	float32Type = typepb.DataType_DT_FLOAT
	int32Type   = typepb.DataType_DT_INT32
	stringType  = typepb.DataType_DT_STRING
	boolType    = typepb.DataType_DT_BOOL
)

// graphOf collects the nodes of a graph that is fed a vector x of strings.
type graphOf struct {
	nodes   []*nodepb.NodeDef
	library []*functionpb.FunctionDef
}

func (g *graphOf) node(name, op string, attrs map[string]any, in ...string) string {
	n := &nodepb.NodeDef{Name: name, Op: op, Input: in, Attr: attributes(attrs)}
	g.nodes = append(g.nodes, n)
	return name
}

// attributes is attrs with integers and texts.
func attributes(of map[string]any) map[string]*attrpb.AttrValue {
	made := attrs(of)
	for name, v := range of {
		switch v := v.(type) {
		case int:
			made[name] = &attrpb.AttrValue{Value: &attrpb.AttrValue_I{I: int64(v)}}
		case []byte:
			made[name] = &attrpb.AttrValue{Value: &attrpb.AttrValue_S{S: v}}
		}
	}
	return made
}

func (g *graphOf) ints(name string, values ...int32) string {
	return g.node(name, "Const", map[string]any{"value": &tensorpb.TensorProto{
		Dtype: int32Type, IntVal: values, TensorShape: &shapepb.TensorShapeProto{Dim: []*shapepb.TensorShapeProto_Dim{{Size: int64(len(values))}}},
	}})
}

func (g *graphOf) int(name string, value int32) string {
	return g.node(name, "Const", map[string]any{"value": &tensorpb.TensorProto{Dtype: int32Type, IntVal: []int32{value}, TensorShape: &shapepb.TensorShapeProto{}}})
}

func (g *graphOf) float(name string, value float32) string {
	return g.node(name, "Const", map[string]any{"value": &tensorpb.TensorProto{Dtype: float32Type, FloatVal: []float32{value}, TensorShape: &shapepb.TensorShapeProto{}}})
}

// model returns saved_model.pb of the graph with a signature from x to the tensor out.
func (g *graphOf) model(t testing.TB, out string, dtype typepb.DataType) []byte {
	t.Helper()
	g.node("x", "Placeholder", map[string]any{"dtype": stringType})
	data, err := proto.Marshal(&corepb.SavedModel{MetaGraphs: []*corepb.MetaGraphDef{{
		GraphDef: &graphpb.GraphDef{Node: g.nodes, Library: &functionpb.FunctionDefLibrary{Function: g.library}},
		SignatureDef: map[string]*corepb.SignatureDef{"serving_default": {
			Inputs: map[string]*corepb.TensorInfo{"x": {
				Encoding: &corepb.TensorInfo_Name{Name: "x:0"}, Dtype: stringType,
				TensorShape: &shapepb.TensorShapeProto{Dim: []*shapepb.TensorShapeProto_Dim{{Size: -1}}},
			}},
			Outputs: map[string]*corepb.TensorInfo{"y": {Encoding: &corepb.TensorInfo_Name{Name: out}, Dtype: dtype}},
		}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// run opens, compiles and runs a model.
func run(ctx context.Context, dir string, data []byte, limits graph.Limits, x ...string) (tensor.Tensor, error) {
	m, err := graph.Parse(dir, data)
	if err != nil {
		return nil, err
	}
	signatures, err := m.Signatures()
	if err != nil {
		return nil, err
	}
	if len(signatures) == 0 {
		return nil, errors.New("no signature")
	}
	s, err := m.Start(ctx, limits)
	if err != nil {
		return nil, err
	}
	p, err := s.Compile(ctx, signatures[0], "output")
	if err != nil {
		return nil, err
	}
	f := p.Frame()
	for i := range f.Args {
		f.Args[i] = tensor.Vector(x...)
	}
	if err := f.Run(ctx); err != nil {
		return nil, err
	}
	return f.Copy(0)
}

// dependent returns a scalar of int32 that no compiler knows beforehand: n times the rows of x.
func (g *graphOf) dependent(name string, n int32) string {
	rows := g.node(name+"/rows", "Size", nil, "x")
	return g.node(name, "Mul", nil, rows, g.int(name+"/n", n))
}

// Each of these graphs has below 2 kB, and asks for gigabytes. It ends with an error that names the
// node, the op, the bytes and the limit, and takes a few times as much memory as the limit.
func TestGraphsThatAskForMoreThanTheLimitEnd(t *testing.T) {
	const limit = 64 << 20
	for name, c := range map[string]struct {
		dtype typepb.DataType
		build func(g *graphOf) string
		want  string // node and op
	}{
		"many large tensors": {float32Type, func(g *graphOf) string {
			dims := g.node("dims", "Pack", nil, g.dependent("n", 1<<22))
			all := []string{}
			for i := range 16 {
				all = append(all, g.node(fmt.Sprint("f", i), "Fill", nil, dims, g.floatOnce("one", 1)))
			}
			return g.node("sum", "AddN", nil, all...)
		}, "(Fill)"},
		"a tensor that is doubled again and again": {float32Type, func(g *graphOf) string {
			last := g.node("start", "Fill", nil, g.node("dims", "Pack", nil, g.dependent("n", 1)), g.float("one", 1))
			axis := g.int("axis", 0)
			for i := range 30 {
				last = g.node(fmt.Sprint("d", i), "ConcatV2", map[string]any{"N": 2}, last, last, axis)
			}
			return last
		}, "(ConcatV2)"},
		"tiles": {float32Type, func(g *graphOf) string {
			one := g.node("start", "Fill", nil, g.node("dims", "Pack", nil, g.dependent("n", 1)), g.float("one", 1))
			return g.node("tile", "Tile", nil, one, g.ints("by", 1<<26))
		}, "node tile (Tile)"},
		"a long range": {int32Type, func(g *graphOf) string {
			return g.node("range", "Range", nil, g.int("from", 0), g.dependent("to", 1<<26), g.int("step", 1))
		}, "node range (Range)"},
		"a broadcast": {float32Type, func(g *graphOf) string {
			one := g.node("start", "Fill", nil, g.node("dims", "Pack", nil, g.dependent("n", 1)), g.float("one", 1))
			return g.node("wide", "BroadcastTo", nil, one, g.ints("to", 1<<13, 1<<13))
		}, "node wide (BroadcastTo)"},
		"a row and a column": {int32Type, func(g *graphOf) string {
			r := g.node("r", "Range", nil, g.int("from", 0), g.dependent("to", 1<<13), g.int("step", 1))
			return g.node("product", "Mul", nil, g.node("column", "ExpandDims", nil, r, g.int("axis", 1)), r)
		}, "node product (Mul)"},
		"a product of matrices": {float32Type, func(g *graphOf) string {
			n := g.dependent("n", 1<<13)
			a := g.node("a", "Fill", nil, g.node("ad", "Pack", nil, n, g.int("one", 1)), g.float("v", 1))
			b := g.node("b", "Fill", nil, g.node("bd", "Pack", nil, "one", n), "v")
			return g.node("product", "MatMul", nil, a, b)
		}, "node product (MatMul)"},
		"padding": {float32Type, func(g *graphOf) string {
			one := g.node("start", "Fill", nil, g.node("dims", "Pack", nil, g.dependent("n", 1)), g.float("one", 1))
			return g.node("padded", "Pad", nil, one, g.node("by", "Reshape", nil, g.ints("all", 0, 1<<26), g.ints("shape", 1, 2)))
		}, "node padded (Pad)"},
		"one hot of many": {float32Type, func(g *graphOf) string {
			return g.node("hot", "OneHot", nil, g.node("r", "Range", nil, g.int("from", 0), g.dependent("to", 1<<12), g.int("step", 1)),
				g.int("depth", 1<<14), g.float("on", 1), g.float("off", 0))
		}, "node hot (OneHot)"},
		"a text that is doubled again and again": {stringType, func(g *graphOf) string {
			last := g.node("start", "StringJoin", map[string]any{"N": 1}, "x")
			for i := range 40 {
				last = g.node(fmt.Sprint("s", i), "StringJoin", map[string]any{"N": 2}, last, last)
			}
			return last
		}, "(StringJoin)"},
		"a text that is rewritten to a longer one": {stringType, func(g *graphOf) string {
			last := "x"
			for i := range 10 {
				last = g.node(fmt.Sprint("r", i), "StaticRegexReplace", map[string]any{"pattern": []byte("."), "rewrite": []byte(strings.Repeat("a", 100))}, last)
			}
			return last
		}, "(StaticRegexReplace)"},
		"padded numbers": {stringType, func(g *graphOf) string {
			r := g.node("r", "Range", nil, g.int("from", 0), g.dependent("to", 1<<14), g.int("step", 1))
			return g.node("text", "AsString", map[string]any{"width": 1 << 16}, r)
		}, "node text (AsString)"},
		"segments without rows": {int32Type, func(g *graphOf) string {
			return g.node("sums", "UnsortedSegmentSum", nil, g.ints("data", 1), g.ints("ids", 0), g.dependent("n", 1<<26))
		}, "node sums (UnsortedSegmentSum)"},
		"a list of many": {int32Type, func(g *graphOf) string {
			l := g.node("list", "TensorListReserve", map[string]any{"element_dtype": int32Type}, g.ints("shape", 1), g.dependent("n", 1<<26))
			return g.node("stack", "TensorListStack", map[string]any{"element_dtype": int32Type}, l, "shape")
		}, "node list (TensorListReserve)"},
		// A tensor of half the limit, whose positions take eight times as much.
		"the places of a view": {int32Type, func(g *graphOf) string {
			r := g.node("r", "Range", nil, g.int("from", 0), g.dependent("to", 1<<22), g.int("step", 1))
			return g.node("back", "ReverseV2", nil, r, g.ints("axes", 0))
		}, "node back (ReverseV2)"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &graphOf{}
			out := c.build(g)
			data := g.model(t, out+":0", c.dtype)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err := run(t.Context(), t.TempDir(), data, graph.Limits{Bytes: limit}, "x")
			runtime.ReadMemStats(&after)
			if !errors.Is(err, graph.ErrLimit) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), fmt.Sprint(limit)) {
				t.Errorf("error %.1000v, want one of the limit that names %s and %d", err, c.want, limit)
			}
			if made := after.TotalAlloc - before.TotalAlloc; made > madeFactor*limit {
				t.Errorf("a graph of %d bytes took %d MiB, one after another", len(data), made>>20)
			}
			if len(data) > 2048 && !strings.Contains(name, "text") && !strings.Contains(name, "doubled") && !strings.Contains(name, "many large") {
				t.Errorf("the graph has %d bytes", len(data))
			}
		})
	}
}

// floatOnce returns float for a name that may be there.
func (g *graphOf) floatOnce(name string, value float32) string {
	for _, n := range g.nodes {
		if n.GetName() == name {
			return name
		}
	}
	return g.float(name, value)
}

// counting returns a function from an int32 i to an int32 or a bool.
func counting(name, result string, out typepb.DataType, nodes ...*nodepb.NodeDef) *functionpb.FunctionDef {
	return &functionpb.FunctionDef{
		Signature: &opdefpb.OpDef{
			Name: name, InputArg: []*opdefpb.OpDef_ArgDef{{Name: "i", Type: int32Type}}, OutputArg: []*opdefpb.OpDef_ArgDef{{Name: "y", Type: out}},
		},
		NodeDef: nodes, Ret: map[string]string{"y": result},
	}
}

// nestedLoops counts to n, n times, n times.
func nestedLoops(t testing.TB, n int32) []byte {
	g := &graphOf{}
	constant := func(name string, v int32) *nodepb.NodeDef {
		return &nodepb.NodeDef{Name: name, Op: "Const", Attr: attributes(map[string]any{"value": &tensorpb.TensorProto{Dtype: int32Type, IntVal: []int32{v}, TensorShape: &shapepb.TensorShapeProto{}}})}
	}
	node := func(name, op string, in ...string) *nodepb.NodeDef {
		return &nodepb.NodeDef{Name: name, Op: op, Input: in}
	}
	while := func(name, body, in string) *nodepb.NodeDef {
		return &nodepb.NodeDef{Name: name, Op: "StatelessWhile", Input: []string{in}, Attr: attrs(map[string]any{"cond": "less", "body": body, "T": []typepb.DataType{int32Type}})}
	}
	g.library = append(g.library,
		counting("less", "l:z:0", boolType, constant("n", n), node("l", "Less", "i", "n:output:0")),
		counting("body0", "a:z:0", int32Type, constant("one", 1), node("a", "AddV2", "i", "one:output:0")))
	for depth := range 2 {
		g.library = append(g.library, counting(fmt.Sprint("body", depth+1), "a:z:0", int32Type, constant("zero", 0), constant("n", n),
			while("w", fmt.Sprint("body", depth), "zero:output:0"), node("d", "FloorDiv", "w:output:0", "n:output:0"), node("a", "AddV2", "i", "d:z:0")))
	}
	g.nodes = append(g.nodes, while("while", "body2", "rows"))
	g.node("rows", "Sub", nil, g.node("size", "Size", nil, "x"), g.int("one", 1))
	return g.model(t, "while:0", int32Type)
}

// Nested loops end soon after their context, be that cancelled or late, and after the number of
// nodes that is allowed.
func TestNestedLoopsEnd(t *testing.T) {
	t.Parallel()
	data := nestedLoops(t, 1<<23)
	ends := func(t *testing.T, ctx context.Context, limits graph.Limits, want error, text string) {
		t.Helper()
		start := time.Now()
		_, err := run(ctx, t.TempDir(), data, limits, "x")
		if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v, want %v and %q", err, want, text)
		}
		if took := time.Since(start); took > soon {
			t.Errorf("took %v", took)
		}
	}
	t.Run("a deadline", func(t *testing.T) {
		t.Parallel()
		ctx, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer end()
		ends(t, ctx, graph.Limits{}, context.DeadlineExceeded, "while")
	})
	t.Run("cancelled with a cause", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("the job was cancelled")
		go func() {
			time.Sleep(50 * time.Millisecond)
			cancel(stopped)
		}()
		ends(t, ctx, graph.Limits{}, stopped, "while")
	})
	t.Run("the time limit", func(t *testing.T) {
		t.Parallel()
		ends(t, t.Context(), graph.Limits{Time: 100 * time.Millisecond}, graph.ErrLimit, "longer than 100ms")
	})
	t.Run("the limit of nodes", func(t *testing.T) {
		t.Parallel()
		ends(t, t.Context(), graph.Limits{Steps: 100_000}, graph.ErrLimit, "more than 100000 nodes")
	})
	t.Run("a few passes", func(t *testing.T) {
		t.Parallel()
		y, err := run(t.Context(), t.TempDir(), nestedLoops(t, 9), graph.Limits{}, "x")
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := y.(*tensor.Array[int32]); !ok || len(n.Data) != 1 || n.Data[0] != 9 {
			t.Errorf("is %v, want 9", y)
		}
	})
}

// A loop may make and drop more than the limit in all: what a pass leaves behind isn't counted.
func TestALoopIsChargedForOnePassAtATime(t *testing.T) {
	t.Parallel()
	g := &graphOf{}
	constant := func(name string, v int32) *nodepb.NodeDef {
		return &nodepb.NodeDef{Name: name, Op: "Const", Attr: attributes(map[string]any{"value": &tensorpb.TensorProto{Dtype: int32Type, IntVal: []int32{v}, TensorShape: &shapepb.TensorShapeProto{}}})}
	}
	node := func(name, op string, in ...string) *nodepb.NodeDef {
		return &nodepb.NodeDef{Name: name, Op: op, Input: in}
	}
	pack := node("dims", "Pack", "n:output:0")
	pack.Attr = attributes(map[string]any{"N": 1})
	g.library = append(g.library,
		counting("less", "l:z:0", boolType, constant("n", 500), node("l", "Less", "i", "n:output:0")),
		counting("body", "a:z:0", int32Type, constant("n", 1<<15), constant("one", 1), constant("zero", 0), pack, node("all", "Fill", "dims:output:0", "i"),
			node("max", "Max", "all:output:0", "zero:output:0"), node("a", "AddV2", "max:output:0", "one:output:0")))
	g.nodes = append(g.nodes, &nodepb.NodeDef{
		Name: "while", Op: "While", Input: []string{"rows"}, Attr: attrs(map[string]any{"cond": "less", "body": "body", "T": []typepb.DataType{int32Type}}),
	})
	g.node("rows", "Sub", nil, g.node("size", "Size", nil, "x"), g.int("one", 1))
	y, err := run(t.Context(), t.TempDir(), g.model(t, "while:0", int32Type), graph.Limits{Bytes: 1 << 20}, "x")
	if err != nil {
		t.Fatal(err) // 500 passes of 128 KiB each
	}
	if n := y.(*tensor.Array[int32]).Data[0]; n != 500 {
		t.Errorf("is %d", n)
	}
}

// Kernels that are at work for long end with their context.
func TestLongKernelsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(g *graphOf) (string, typepb.DataType){
		"product": func(g *graphOf) (string, typepb.DataType) {
			n := g.dependent("n", 1<<13)
			a := g.node("a", "Fill", nil, g.node("d", "Pack", nil, n, n), g.float("v", 1))
			return g.node("long", "MatMul", nil, a, a), float32Type // 2^39 multiplications
		},
		"sort": func(g *graphOf) (string, typepb.DataType) {
			r := g.node("r", "Range", nil, g.int("from", 0), g.dependent("to", 1<<24), g.int("step", 1))
			return g.node("long", "TopKV2", nil, g.node("mod", "FloorMod", nil, r, g.int("by", 7919)), g.int("k", 5)), int32Type
		},
		"pattern": func(g *graphOf) (string, typepb.DataType) {
			last := "x"
			for i := range 16 {
				last = g.node(fmt.Sprint("s", i), "StringJoin", map[string]any{"N": 2}, last, last)
			}
			return g.node("long", "StaticRegexReplace", map[string]any{"pattern": []byte("(x*)*y|x"), "rewrite": []byte("z")}, last), stringType
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &graphOf{}
			out, dtype := build(g)
			ctx, end := context.WithTimeout(t.Context(), 2*time.Second)
			defer end()
			start := time.Now()
			_, err := run(ctx, t.TempDir(), g.model(t, out+":0", dtype), graph.Limits{Bytes: 4 << 30}, strings.Repeat("x", 64))
			// On a slow machine the error is that of an earlier node.
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "node ") {
				t.Errorf("error %v", err)
			}
			if took := time.Since(start); took > soon {
				t.Errorf("took %v", took)
			}
		})
	}
}

// Functions that call themselves are no loop without an end.
func TestFunctionsThatCallThemselvesEnd(t *testing.T) {
	t.Parallel()
	g := &graphOf{library: []*functionpb.FunctionDef{
		counting("f", "c:output:0", int32Type, &nodepb.NodeDef{Name: "c", Op: "PartitionedCall", Input: []string{"i"}, Attr: attrs(map[string]any{"f": "f"})}),
	}}
	g.nodes = append(g.nodes, &nodepb.NodeDef{Name: "c", Op: "PartitionedCall", Input: []string{"rows"}, Attr: attrs(map[string]any{"f": "f"})})
	g.node("rows", "Size", nil, "x")
	if _, err := run(t.Context(), t.TempDir(), g.model(t, "c:0", int32Type), graph.Limits{}, "x"); err == nil || !strings.Contains(err.Error(), "calls one within another") {
		t.Errorf("error %v", err)
	}
}

// A pattern of a few bytes whose program is large is refused, as RE2 does.
func TestPatternsOfLargeProgramsAreRefused(t *testing.T) {
	t.Parallel()
	g := &graphOf{}
	out := g.node("long", "StaticRegexFullMatch", map[string]any{"pattern": []byte(strings.Repeat("x{1000}", 100))}, "x")
	if _, err := run(t.Context(), t.TempDir(), g.model(t, out+":0", boolType), graph.Limits{}, "x"); err == nil || !strings.Contains(err.Error(), "instructions") {
		t.Errorf("error %v", err)
	}
}

// Functions of data sets that call each other twice are looked at once each.
func TestDataSetsOfFunctionsThatCallEachOtherAreLookedAtOnce(t *testing.T) {
	t.Parallel()
	library := &functionpb.FunctionDefLibrary{Function: []*functionpb.FunctionDef{ofBool("f60", "x")}}
	for i := range 60 {
		next := fmt.Sprintf("f%d", i+1)
		library.Function = append(library.Function, ofBool(fmt.Sprintf("f%d", i), "x", call("a", next, "x"), call("b", next, "x")))
	}
	child := func(name string, id int32) *corepb.TrackableObjectGraph_TrackableObject_ObjectReference {
		return &corepb.TrackableObjectGraph_TrackableObject_ObjectReference{LocalName: name, NodeId: id}
	}
	meta := &corepb.MetaGraphDef{
		GraphDef: &graphpb.GraphDef{Library: library, Node: []*nodepb.NodeDef{truth, call("c", "user", "true")}},
		ObjectGraphDef: &corepb.SavedObjectGraph{
			Nodes: []*corepb.SavedObject{
				{Children: []*corepb.TrackableObjectGraph_TrackableObject_ObjectReference{child("_create_resource", 1)}},
				{Kind: &corepb.SavedObject_Function{Function: &corepb.SavedFunction{ConcreteFunctions: []string{"f0"}}}},
			},
			ConcreteFunctions: map[string]*corepb.SavedConcreteFunction{"f0": {}, "user": {BoundInputs: []int32{0}}},
		},
	}
	library.Function = append(library.Function, ofBool("user", "x"))
	m := parsed(t, t.TempDir(), meta)
	done := make(chan error, 1)
	go func() {
		_, err := m.Start(context.Background(), graph.Limits{})
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(soon):
		t.Fatalf("not done after %v", soon)
	}
}

// A file of empty messages would take a hundred times as much memory as it has bytes.
func TestAFileOfEmptyMessagesIsNotRead(t *testing.T) {
	nodes := bytes.Repeat([]byte{0x0a, 0}, 6<<20) // GraphDef.node
	// MetaGraphDef.graph_def
	g := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), nodes)
	// SavedModel.meta_graphs
	data := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), g)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := graph.Parse(t.TempDir(), data)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "would take more than") {
		t.Errorf("error %v", err)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 64<<20 {
		t.Errorf("%d bytes took %d MiB", len(data), made>>20)
	}
}
