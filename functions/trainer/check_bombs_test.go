//go:build linux

package trainer_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
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
	versionpb "github.com/wamuir/graft/tensorflow/core/framework/versions_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/skew"
	"github.com/stoker-ml/stoker/compute/tftest"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
)

// A check ends within its limits and when it is told to, whatever the model asks for, and leaves no process: with the reader that is
// compiled in, and with the TensorFlow that it starts.
func TestAModelThatAsksForTooMuchEndsWithItsCheck(t *testing.T) {
	t.Parallel()
	type ending string
	const (
		answered  ending = "" // by the reader's own limits
		resources        = ending(guest.KindResources)
		stopped          = ending(guest.KindStopped)
		crash            = ending(guest.KindCrash)
	)
	const (
		cancelled  = "cancelled"
		terminated = "SIGTERM" // is sent to the child
	)
	type limits = guest.Limits
	for _, c := range []struct {
		model  string
		limits limits
		event  string
		python bool
		want   []ending
		says   string
	}{
		{model: "bomb", limits: limits{MemoryBytes: 512 << 20}, want: []ending{answered, resources}},
		{model: "bomb", limits: limits{Timeout: time.Minute}, want: []ending{answered}},
		{model: "bomb", event: cancelled, want: []ending{answered, stopped}},
		{model: "bomb", event: terminated, want: []ending{answered, crash}},
		{model: "loop", limits: limits{MemoryBytes: 1 << 30, Timeout: 2 * time.Second}, want: []ending{resources}, says: "longer than 2s"},
		{model: "loop", limits: limits{Timeout: time.Second}, want: []ending{resources}, says: "longer than 1s"},
		{model: "loop", event: cancelled, want: []ending{stopped}, says: "the job was cancelled"},
		{model: "loop", event: terminated, want: []ending{crash}},
		{model: "bomb", python: true, limits: limits{MemoryBytes: 1536 << 20}, want: []ending{resources}, says: "1.5 GiB allowed"},
		{model: "bomb", python: true, limits: limits{MemoryBytes: 2 << 30, Timeout: 2 * time.Second}, want: []ending{resources}},
		{model: "bomb", python: true, limits: limits{MemoryBytes: 2 << 30}, event: cancelled, want: []ending{stopped, resources}},
		{model: "bomb", python: true, limits: limits{MemoryBytes: 2 << 30}, event: terminated, want: []ending{crash, resources}},
		{model: "loop", python: true, limits: limits{MemoryBytes: 2 << 30, Timeout: 20 * time.Second}, want: []ending{resources}, says: "longer than 20s"},
		{model: "loop", python: true, event: cancelled, want: []ending{stopped}, says: "the job was cancelled"},
		{model: "loop", python: true, event: terminated, want: []ending{crash}},
	} {
		name := c.model + " " + cmp.Or(c.event, limitsText(c.limits))
		if c.python {
			name += " with Python"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.python && testing.Short() {
				t.Skip("starts TensorFlow")
			}
			dir := t.TempDir()
			started := filepath.Join(dir, "started")
			q := hostileQuestion(t, dir, c.model, started, c.python)
			host, err := guest.New(guest.Options{
				Builtins: builtin.Digests(), Args: []string{"module", dir}, Env: []string{childEnv + "=1"}, Writable: []string{dir},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(host.Close)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			begin := time.Now().Add(c.limits.Timeout) // when the child is told to end
			happened := make(chan time.Time, 1)
			if c.event != "" {
				go func() {
					pids := waitForCheck(ctx, dir, started, c.python)
					happened <- time.Now()
					if c.event == cancelled {
						cancel(errors.New("the job was cancelled"))
					} else if len(pids) > 0 {
						_ = syscall.Kill(slices.Min(pids), syscall.SIGTERM) // the child; what it starts comes after it
					}
				}()
			}
			c.limits.Grace = 30 * time.Second
			answer, err := host.Check(ctx, q, c.limits)
			select {
			case begin = <-happened:
			default:
			}
			took := time.Since(begin)
			if left := processesOf(dir); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
			got, text := answered, string(answer)
			if err != nil {
				failed, ok := errors.AsType[*guest.Error](err)
				if !ok {
					t.Fatal(err)
				}
				got, text = ending(failed.Kind), failed.Error()
			}
			t.Logf("%q %v after it was told to end: %s", got, took, text)
			if !slices.Contains(c.want, got) || !strings.Contains(text, c.says) {
				t.Errorf("ended as %q, want one of %q and %q", got, c.want, c.says)
			}
			if got == answered && !strings.Contains(text, "limit") {
				t.Errorf("the answer names no limit: %s", text)
			}
			if (c.event != "" || c.limits.Timeout > 0) && took > 20*time.Second {
				t.Errorf("ended %v after it was told to, no sooner than by its grace time", took)
			}
		})
	}
}

func limitsText(l guest.Limits) (text string) {
	if l.MemoryBytes > 0 {
		text += fmt.Sprint(" memory ", l.MemoryBytes>>20)
	}
	if l.Timeout > 0 {
		text += fmt.Sprint(" timeout ", l.Timeout)
	}
	return strings.TrimSpace(text)
}

// hostileQuestion asks for the check of a model. For Python the model writes the file started before all else, by operations that the
// compiled-in reader does not have.
func hostileQuestion(t *testing.T, dir, kind, started string, python bool) json.RawMessage {
	t.Helper()
	g := hostileGraph{}
	g.add("x", "Placeholder", map[string]any{"dtype": typepb.DataType_DT_STRING, "shape": shapeOf(-1)})
	zero := g.add("zero", "Const", int32Attrs(0))
	if python {
		write := g.add("write", "WriteFile", nil, g.add("path", "Const", stringAttrs(started)), g.add("text", "Const", stringAttrs("x")))
		read := g.add("read", "ReadFile", nil, "path", "^"+write)
		length := g.add("length", "StringLength", nil, read)
		zero = g.add("zeroed", "FloorDiv", map[string]any{"T": typepb.DataType_DT_INT32}, length, g.add("nine", "Const", int32Attrs(9)))
	}
	var output string
	dtype := typepb.DataType_DT_INT32
	if kind == "loop" {
		output = g.loop(zero)
	} else {
		output, dtype = g.bomb(zero), typepb.DataType_DT_FLOAT
	}
	data, err := proto.Marshal(g.saved(output, dtype))
	if err != nil {
		t.Fatal(err)
	}
	model, predictions := filepath.Join(dir, "model"), filepath.Join(dir, "predictions.jsonl")
	raw, err := filepath.Abs("../../compute/example/testdata/penguin/examples/Split-eval/*")
	err = errors.Join(err, os.Mkdir(model, 0o755), os.WriteFile(filepath.Join(model, "saved_model.pb"), data, 0o600),
		os.WriteFile(predictions, []byte(`{"scores": [1]}`+"\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	q := skew.Question{Model: model, Raw: []string{raw}, Predictions: predictions, Rows: 1, Tolerance: skew.DefaultTolerance}
	if python {
		q.Python = tftest.Python(t)
	}
	text, err := json.Marshal(modelcheck.Question{Skew: &q})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// waitForCheck waits until the process of a check executes the model, and returns the processes of the check.
func waitForCheck(ctx context.Context, dir, started string, python bool) (pids []int) {
	for ctx.Err() == nil {
		pids = processesOf(dir)
		_, err := os.Stat(started)
		if python && err == nil || !python && len(pids) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	return pids
}

// processesOf are the processes that have a directory in their arguments.
func processesOf(dir string) (pids []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(dir)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// hostileGraph is a graph under construction.
type hostileGraph struct {
	nodes   []*nodepb.NodeDef
	library []*functionpb.FunctionDef
}

func (g *hostileGraph) add(name, op string, attrs map[string]any, inputs ...string) string {
	g.nodes = append(g.nodes, graphNode(name, op, attrs, inputs...))
	return name
}

// bomb adds 16 tensors of 512 MiB.
func (g *hostileGraph) bomb(zero string) (output string) {
	float, integer := typepb.DataType_DT_FLOAT, typepb.DataType_DT_INT32
	size := g.add("size", "AddV2", map[string]any{"T": integer}, g.add("large", "Const", int32Attrs(1<<27)), zero)
	dims := g.add("dims", "ExpandDims", map[string]any{"T": integer, "Tdim": integer}, size, g.add("axis", "Const", int32Attrs(0)))
	var all []string
	for i := range 16 { // with different values: TensorFlow computes equal tensors once
		tensor := &tensorpb.TensorProto{Dtype: float, TensorShape: shapeOf(), FloatVal: []float32{float32(i)}}
		value := g.add(fmt.Sprint("v", i), "Const", map[string]any{"dtype": float, "value": tensor})
		all = append(all, g.add(fmt.Sprint("f", i), "Fill", map[string]any{"T": float, "index_type": integer}, dims, value))
	}
	g.add("sum", "AddN", map[string]any{"T": float, "N": int64(len(all))}, all...)
	g.add("max", "Max", map[string]any{"T": float, "Tidx": integer, "keep_dims": false}, "sum", "axis")
	return g.add("out", "ExpandDims", map[string]any{"T": float, "Tdim": integer}, "max", "axis") + ":0"
}

// loop adds a loop in a loop in a loop that would end in some thousand years.
func (g *hostileGraph) loop(zero string) (output string) {
	const n = 1 << 23
	integer := typepb.DataType_DT_INT32
	typed := map[string]any{"T": integer}
	function := func(name, result string, out typepb.DataType, nodes ...*nodepb.NodeDef) {
		g.library = append(g.library, &functionpb.FunctionDef{
			Signature: &opdefpb.OpDef{
				Name: name, InputArg: []*opdefpb.OpDef_ArgDef{{Name: "i", Type: integer}}, OutputArg: []*opdefpb.OpDef_ArgDef{{Name: "y", Type: out}},
			},
			NodeDef: nodes, Ret: map[string]string{"y": result},
		})
	}
	while := func(body string) map[string]any {
		return map[string]any{"cond": functionName("less"), "body": functionName(body), "T": []typepb.DataType{integer}, "_lower_using_switch_merge": true}
	}
	function("less", "l:z:0", typepb.DataType_DT_BOOL, graphNode("n", "Const", int32Attrs(n)), graphNode("l", "Less", typed, "i", "n:output:0"))
	function("body0", "a:z:0", integer, graphNode("one", "Const", int32Attrs(1)), graphNode("a", "AddV2", typed, "i", "one:output:0"))
	for depth := range 2 {
		function(fmt.Sprint("body", depth+1), "a:z:0", integer, graphNode("zero", "Const", int32Attrs(0)), graphNode("n", "Const", int32Attrs(n)),
			graphNode("w", "StatelessWhile", while(fmt.Sprint("body", depth)), "zero:output:0"),
			graphNode("d", "FloorDiv", typed, "w:output:0", "n:output:0"), graphNode("a", "AddV2", typed, "i", "d:z:0"))
	}
	g.add("while", "StatelessWhile", while("body2"), zero)
	return g.add("out", "ExpandDims", map[string]any{"T": integer, "Tdim": integer}, "while", g.add("first", "Const", int32Attrs(0))) + ":0"
}

// saved has one signature, from x to scores.
func (g *hostileGraph) saved(output string, dtype typepb.DataType) *corepb.SavedModel {
	tensor := func(name string, dtype typepb.DataType) *corepb.TensorInfo {
		return &corepb.TensorInfo{Encoding: &corepb.TensorInfo_Name{Name: name}, Dtype: dtype, TensorShape: shapeOf(-1)}
	}
	return &corepb.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: []*corepb.MetaGraphDef{{
		MetaInfoDef: &corepb.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}},
		GraphDef:    &graphpb.GraphDef{Node: g.nodes, Library: &functionpb.FunctionDefLibrary{Function: g.library}, Versions: &versionpb.VersionDef{Producer: 1882}},
		SignatureDef: map[string]*corepb.SignatureDef{"serving_default": {
			MethodName: "tensorflow/serving/predict",
			Inputs:     map[string]*corepb.TensorInfo{"examples": tensor("x:0", typepb.DataType_DT_STRING)},
			Outputs:    map[string]*corepb.TensorInfo{"scores": tensor(output, dtype)},
		}},
	}}}
}

func graphNode(name, op string, attrs map[string]any, inputs ...string) *nodepb.NodeDef {
	n := &nodepb.NodeDef{Name: name, Op: op, Input: inputs, Attr: map[string]*attrpb.AttrValue{}}
	for key, value := range attrs {
		a := &attrpb.AttrValue{}
		switch value := value.(type) {
		case typepb.DataType:
			a.Value = &attrpb.AttrValue_Type{Type: value}
		case []typepb.DataType:
			a.Value = &attrpb.AttrValue_List{List: &attrpb.AttrValue_ListValue{Type: value}}
		case *shapepb.TensorShapeProto:
			a.Value = &attrpb.AttrValue_Shape{Shape: value}
		case *tensorpb.TensorProto:
			a.Value = &attrpb.AttrValue_Tensor{Tensor: value}
		case functionName:
			a.Value = &attrpb.AttrValue_Func{Func: &attrpb.NameAttrList{Name: string(value)}}
		case int64:
			a.Value = &attrpb.AttrValue_I{I: value}
		case bool:
			a.Value = &attrpb.AttrValue_B{B: value}
		}
		n.Attr[key] = a
	}
	return n
}

type functionName string

func int32Attrs(v int32) map[string]any {
	integer := typepb.DataType_DT_INT32
	return map[string]any{"dtype": integer, "value": &tensorpb.TensorProto{Dtype: integer, TensorShape: shapeOf(), IntVal: []int32{v}}}
}

func stringAttrs(v string) map[string]any {
	text := typepb.DataType_DT_STRING
	return map[string]any{"dtype": text, "value": &tensorpb.TensorProto{Dtype: text, TensorShape: shapeOf(), StringVal: [][]byte{[]byte(v)}}}
}

func shapeOf(dims ...int64) *shapepb.TensorShapeProto {
	s := &shapepb.TensorShapeProto{}
	for _, d := range dims {
		s.Dim = append(s.Dim, &shapepb.TensorShapeProto_Dim{Size: d})
	}
	return s
}
