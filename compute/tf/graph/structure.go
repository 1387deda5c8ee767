package graph

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	attrpb "github.com/wamuir/graft/tensorflow/core/framework/attr_value_go_proto"
	functionpb "github.com/wamuir/graft/tensorflow/core/framework/function_go_proto"
	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"
	tensorpb "github.com/wamuir/graft/tensorflow/core/framework/tensor_go_proto"
	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// StructureDigest returns the SHA-256, in hex, of what the graph for serving computes, apart from
// the data that it was made from: two SavedModels that the same code writes for other data have the
// same digest as long as their shapes and vocabulary sizes are equal.
//
// It covers the operations and how they are connected, types, shapes, signatures, small int32
// constants (axes, shapes, permutations) and the number of lines or records of each vocabulary
// file. It leaves out names of nodes, functions, tables and files, all other constants (means,
// boundaries, sizes as int64), values of variables, and other files that TensorFlow writes with the
// graph: fingerprint.pb has a random UUID. The connections of operations in a loop of TensorFlow 1
// are not covered.
//
// Vocabulary files are read as streams; memory is limited by the size of the graph. It returns an
// error if a vocabulary file can't be read.
func (m *Model) StructureDigest() (string, error) {
	sizes, err := m.assetSizes()
	if err != nil {
		return "", err
	}
	d := digester{functions: map[string]string{}}
	d.library(m.library)
	parts := []string{}
	for _, digest := range d.functions {
		parts = append(parts, "function "+digest)
	}
	nodes := m.Meta.GetGraphDef().GetNode()
	used := map[string]bool{}
	for _, n := range nodes {
		for _, in := range n.GetInput() {
			used[nodeOf(in)] = true
		}
	}
	for i, digest := range d.nodes(nodes, nil) {
		if !used[nodes[i].GetName()] {
			parts = append(parts, "result "+digest)
		}
	}
	for name, signature := range m.Meta.GetSignatureDef() {
		s, err := readSignature(name, signature)
		if err != nil {
			return "", err
		}
		parts = append(parts, fmt.Sprintf("signature %q %v %v", name, specTexts(s.Inputs), specTexts(s.Outputs)))
	}
	for _, size := range sizes {
		parts = append(parts, fmt.Sprintf("asset %d", size))
	}
	slices.Sort(parts)
	return digestOf(parts...), nil
}

func specTexts(specs []Spec) (texts []string) {
	for _, s := range specs {
		texts = append(texts, fmt.Sprintf("%q %v %v %v", s.Name, s.DType, s.Shape, s.Layout))
	}
	slices.Sort(texts)
	return texts
}

// digester computes digests of nodes from those of their inputs, and of functions from those of
// their results.
type digester struct {
	functions map[string]string // digest, by name
}

// library digests each function after those that it calls.
func (d *digester) library(library map[string]*functionpb.FunctionDef) {
	names := make([]string, 0, len(library))
	for name := range library {
		names = append(names, name)
	}
	slices.Sort(names)
	at := map[string]int{}
	for i, name := range names {
		at[name] = i
	}
	calls := make([][]int, len(names))
	for i, name := range names {
		for _, n := range library[name].GetNodeDef() {
			for _, called := range calledBy(n) {
				if j, ok := at[called]; ok {
					calls[i] = append(calls[i], j)
				}
			}
		}
	}
	inOrder(calls, func(i int, _ bool) { d.functions[names[i]] = d.function(library[names[i]]) })
}

func (d *digester) function(f *functionpb.FunctionDef) string {
	arguments := map[string]string{}
	parts := []string{}
	for i, arg := range f.GetSignature().GetInputArg() {
		text := fmt.Sprintf("argument %d %v", i, arg.GetType())
		arguments[arg.GetName()] = text
		parts = append(parts, text)
	}
	byName := map[string]string{}
	for i, digest := range d.nodes(f.GetNodeDef(), arguments) {
		byName[f.GetNodeDef()[i].GetName()] = digest
	}
	for i, result := range f.GetSignature().GetOutputArg() {
		from := f.GetRet()[result.GetName()]
		node, port, _ := strings.Cut(from, ":")
		digest, ok := byName[node]
		if !ok {
			digest = arguments[node]
		}
		parts = append(parts, fmt.Sprintf("result %d %v %s %s", i, result.GetType(), digest, port))
	}
	return digestOf(parts...)
}

// nodes digests the nodes of one graph or function, in their order.
func (d *digester) nodes(nodes []*nodepb.NodeDef, arguments map[string]string) []string {
	at := map[string]int{}
	for i, n := range nodes {
		at[n.GetName()] = i
	}
	from := make([][]int, len(nodes))
	for i, n := range nodes {
		for _, in := range n.GetInput() {
			if j, ok := at[nodeOf(in)]; ok {
				from[i] = append(from[i], j)
			}
		}
	}
	digests := make([]string, len(nodes))
	inOrder(from, func(i int, looped bool) {
		n := nodes[i]
		parts := []string{n.GetOp()}
		parts = append(parts, d.attributes(n)...)
		var after []string
		for _, in := range n.GetInput() {
			if looped {
				break
			}
			name, port, _ := strings.Cut(strings.TrimPrefix(in, "^"), ":")
			digest := arguments[name]
			if j, ok := at[name]; ok {
				digest = digests[j]
			}
			if strings.HasPrefix(in, "^") { // the order of control inputs does not matter
				after = append(after, "after "+digest)
			} else {
				parts = append(parts, "input "+digest+" "+port)
			}
		}
		slices.Sort(after)
		digests[i] = digestOf(append(parts, slices.Compact(after)...)...)
	})
	return digests
}

// unstable are attributes that name things or say how, not what, a node computes.
var unstable = []string{"shared_name", "container", "config", "config_proto", "executor_type"}

func (d *digester) attributes(n *nodepb.NodeDef) (texts []string) {
	for name, value := range n.GetAttr() {
		if strings.HasPrefix(name, "_") || slices.Contains(unstable, name) {
			continue
		}
		texts = append(texts, name+" "+d.attribute(value))
	}
	slices.Sort(texts)
	return texts
}

func (d *digester) attribute(v *attrpb.AttrValue) string {
	if t := v.GetTensor(); t != nil {
		return tensorText(t)
	}
	if f := v.GetFunc(); f != nil {
		return d.called(f.GetName())
	}
	if l := v.GetList(); len(l.GetFunc()) > 0 {
		var all []string
		for _, f := range l.GetFunc() {
			all = append(all, d.called(f.GetName()))
		}
		return strings.Join(all, " ")
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(v)
	if err != nil {
		return err.Error() // of a value that was just parsed
	}
	return hex.EncodeToString(text)
}

// called returns the digest of a function; one that is not known, or calls itself, has its name.
func (d *digester) called(name string) string {
	if digest, ok := d.functions[name]; ok {
		return "calls " + digest
	}
	return "calls " + strconv.Quote(name)
}

// maxStructural limits the numbers of a constant that may be axes, a shape or a permutation.
const maxStructural = 64

func tensorText(t *tensorpb.TensorProto) string {
	text := fmt.Sprintf("tensor %v %v", t.GetDtype(), t.GetTensorShape().GetDim())
	if t.GetDtype() == typepb.DataType_DT_INT32 && len(t.GetIntVal()) <= maxStructural && len(t.GetTensorContent()) <= 4*maxStructural {
		text += fmt.Sprintf(" %v %x", t.GetIntVal(), t.GetTensorContent())
	}
	return text
}

// calledBy names the functions in a node's attributes.
func calledBy(n *nodepb.NodeDef) (names []string) {
	for _, v := range n.GetAttr() {
		if f := v.GetFunc(); f != nil {
			names = append(names, f.GetName())
		}
		for _, f := range v.GetList().GetFunc() {
			names = append(names, f.GetName())
		}
	}
	return names
}

// inOrder visits each of len(from) elements once, after all its predecessors; the elements in
// loops, and their successors, last. It doesn't recurse: a graph may be as deep as it is large.
func inOrder(from [][]int, visit func(i int, looped bool)) {
	waits, leads := make([]int, len(from)), make([][]int, len(from))
	var ready []int
	for i, before := range from {
		waits[i] = len(before)
		for _, j := range before {
			leads[j] = append(leads[j], i)
		}
		if len(before) == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		visit(i, false)
		for _, next := range leads[i] {
			if waits[next]--; waits[next] == 0 {
				ready = append(ready, next)
			}
		}
	}
	for i := range from {
		if waits[i] > 0 {
			visit(i, true)
		}
	}
}

func digestOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s\n", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// assetSizes returns the numbers of lines or records of the asset files.
func (m *Model) assetSizes() (sizes []int, err error) {
	for _, asset := range m.assets {
		// No path leads out of the directory.
		name := filepath.Base(filepath.FromSlash(asset.GetFilename()))
		size, err := countEntries(filepath.Join(m.Dir, "assets", name))
		if err != nil {
			return nil, fmt.Errorf("vocabulary %s: %w", name, err)
		}
		sizes = append(sizes, size)
	}
	return sizes, nil
}

// countEntries counts the records of a TFRecord file, compressed or not, or the lines of any other;
// a last line without an end counts.
func countEntries(path string) (n int, err error) {
	if strings.Contains(filepath.Base(path), ".tfrecord") {
		r, err := tfrecord.Open(path)
		if err != nil {
			return 0, err
		}
		defer r.Close()
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				return n, nil
			} else if err != nil {
				return 0, err
			}
			n++
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buffer, last := make([]byte, 64<<10), byte('\n')
	for {
		got, err := f.Read(buffer)
		n += bytes.Count(buffer[:got], []byte("\n"))
		if got > 0 {
			last = buffer[got-1]
		}
		if errors.Is(err, io.EOF) {
			if last != '\n' {
				n++
			}
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
