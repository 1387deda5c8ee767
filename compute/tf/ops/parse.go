package ops

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	nodepb "github.com/wamuir/graft/tensorflow/core/framework/node_def_go_proto"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// parser reads the features of serialized tf.Examples for a node, in the order of its outputs.
type parser struct {
	spec                  example.Spec
	sparse, dense, ragged []parsed
}

// parsed is a feature: its column in the spec, and its outputs.
type parsed struct {
	column int
	splits tensor.DType // ragged
}

// buildParseExample reads a batch of serialized tf.Examples with ParseExampleV2. Its inputs are the
// records, names for errors, the keys of sparse, dense and ragged features, and defaults of the
// dense ones.
func buildParseExample(n *Node) (Kernel, error) {
	dense := n.types("Tdense")
	if err := n.takes(5 + len(dense)); err != nil {
		return nil, err
	}
	var keys [3][]string
	for i := range keys {
		list, err := n.fixedStrings(2 + i)
		if err != nil {
			return nil, fmt.Errorf("keys: %w", err)
		}
		keys[i] = list
	}
	return n.parseExamples(keys[0], keys[1], keys[2], 5)
}

// buildParseExample1 builds ParseExample of TensorFlow 1: each key is a separate input.
func buildParseExample1(n *Node) (Kernel, error) {
	sparse, dense := len(n.types("sparse_types")), len(n.types("Tdense"))
	if err := n.takes(2 + sparse + 2*dense); err != nil {
		return nil, err
	}
	var keys []string
	for i := range sparse + dense {
		key, err := n.fixedStrings(2 + i)
		if err == nil && len(key) != 1 {
			err = errors.New("is not one")
		}
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i, err)
		}
		keys = append(keys, key[0])
	}
	return n.parseExamples(keys[:sparse], keys[sparse:], nil, 2+sparse+dense)
}

// parseExamples makes the kernel; defaults are the inputs from firstDefault on.
func (n *Node) parseExamples(sparse, dense, ragged []string, firstDefault int) (Kernel, error) {
	types := [3][]tensor.DType{n.types("sparse_types"), n.types("Tdense"), n.types("ragged_value_types")}
	splits, shapes := n.types("ragged_split_types"), n.attr("dense_shapes").GetList().GetShape()
	if len(sparse) != len(types[0]) || len(dense) != len(types[1]) || len(ragged) != len(types[2]) ||
		len(ragged) != len(splits) || len(dense) != len(shapes) || n.In[0] != tensor.String {
		return nil, errors.New("keys and types are not as many")
	}
	p, features := &parser{}, []example.Feature{}
	for i, key := range sparse {
		f, err := parsedFeature(key, types[0][i])
		if err != nil {
			return nil, err
		}
		features, p.sparse = append(features, f), append(p.sparse, parsed{})
	}
	for i, key := range dense {
		f, err := parsedFeature(key, types[1][i])
		if err != nil {
			return nil, err
		}
		f.Shape = append([]int{}, tensor.ShapeOf(shapes[i])...)
		if f.Default, err = n.parsedDefault(firstDefault+i, f); err != nil {
			return nil, fmt.Errorf("feature %q: %w", key, err)
		}
		features, p.dense = append(features, f), append(p.dense, parsed{})
	}
	for i, key := range ragged {
		f, err := parsedFeature(key, types[2][i])
		if err != nil {
			return nil, err
		}
		if splits[i] != tensor.Int32 && splits[i] != tensor.Int64 {
			return nil, fmt.Errorf("feature %q: row splits of type %v", key, splits[i])
		}
		features, p.ragged = append(features, f), append(p.ragged, parsed{splits: splits[i]})
	}
	n.Out = parsedTypes(types, splits)
	return p.kernel(features)
}

// parsedTypes returns the types of the outputs, in their order.
func parsedTypes(types [3][]tensor.DType, splits []tensor.DType) []tensor.DType {
	integers := slices.Repeat([]tensor.DType{tensor.Int64}, len(types[0]))
	return slices.Concat(integers, types[0], integers, types[1], types[2], splits)
}

func parsedFeature(key string, t tensor.DType) (example.Feature, error) {
	f := example.Feature{Name: key}
	switch t {
	case tensor.Float32:
		f.Kind = example.Float
	case tensor.Int64:
		f.Kind = example.Int64
	case tensor.String:
		f.Kind = example.Bytes
	default:
		return f, fmt.Errorf("feature %q: type %v isn't one of tf.Examples", key, t)
	}
	return f, nil
}

// parsedDefault returns the value of a dense feature that a row lacks. It is nil if the input is
// empty: then such a row is an error.
func (n *Node) parsedDefault(input int, f example.Feature) (*example.Default, error) {
	t, ok := n.Fixed[input].(tensor.Tensor)
	if !ok {
		return nil, errors.New("its default isn't known beforehand")
	}
	if t.Size() == 0 {
		return nil, nil
	}
	d := &example.Default{}
	alike := true
	switch a := t.(type) {
	case *tensor.Array[float32]:
		d.Float, alike = a.Data[0], !slices.ContainsFunc(a.Data, func(v float32) bool { return v != a.Data[0] })
	case *tensor.Array[int64]:
		d.Int64, alike = a.Data[0], !slices.ContainsFunc(a.Data, func(v int64) bool { return v != a.Data[0] })
	case *tensor.Array[string]:
		d.Bytes, alike = []byte(a.Data[0]), !slices.ContainsFunc(a.Data, func(v string) bool { return v != a.Data[0] })
	}
	if !alike {
		return nil, errors.New("a default of several values isn't executed")
	}
	return d, nil
}

// kernel finishes the parser for features in the order of its sparse, dense and ragged ones.
func (p *parser) kernel(features []example.Feature) (Kernel, error) {
	p.spec = slices.SortedFunc(slices.Values(features), func(a, b example.Feature) int { return strings.Compare(a.Name, b.Name) })
	if err := p.spec.Validate(); err != nil {
		return nil, err
	}
	at := 0
	for _, group := range [][]parsed{p.sparse, p.dense, p.ragged} {
		for i := range group {
			name := features[at].Name
			group[i].column = slices.IndexFunc(p.spec, func(f example.Feature) bool { return f.Name == name })
			at++
		}
	}
	return p.run, nil
}

func (p *parser) run(c *Call) error {
	b, err := p.decode(c)
	if err == nil {
		p.put(c, b)
	}
	return err
}

// decode reads the records of input 0.
func (p *parser) decode(c *Call) (*example.Batch, error) {
	records := arg[string](c, 0)
	if len(records.Dims) != 1 {
		return nil, fmt.Errorf("records of shape %v, only lists of records are parsed", records.Dims)
	}
	d, err := example.NewDecoder(p.spec)
	if err != nil {
		return nil, err
	}
	b := example.NewBatch(p.spec)
	fixed := p.fixedBytes()
	held := int64(0)
	for i, record := range records.Data {
		most := fixed + grownBytes*int64(len(record))
		c.charge(most)
		c.tick(len(record) + len(p.spec))
		if err := d.Append(b, []byte(record)); err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
		now := columnBytes(b)
		c.Budget.Release(most)
		c.charge(now - held)
		held = now
	}
	for _, column := range b.Columns {
		c.charge(48*int64(column.Len()) + int64(len(column.Data))) // strings, and indices or splits
	}
	return b, nil
}

// grownBytes is the size of the columns of a record as a multiple of its own size: an integer of
// one byte has eight, and columns grow.
const grownBytes = 16

// columnBytes returns the memory of the columns of a batch.
func columnBytes(b *example.Batch) int64 {
	bytes := 0
	for i := range b.Columns {
		c := &b.Columns[i]
		bytes += 4*(cap(c.Offsets)+cap(c.Inner)+cap(c.Floats)+cap(c.Ends)) + 8*cap(c.Ints) + cap(c.Data)
	}
	return int64(bytes)
}

// fixedBytes returns the memory of a row that does not depend on its values.
func (p *parser) fixedBytes() int64 {
	bytes := int64(0)
	for _, f := range p.spec {
		if bytes += 16; f.Shape == nil {
			continue
		}
		width := int64(8)
		if f.Default != nil {
			width += int64(len(f.Default.Bytes))
		}
		own := shapeBytes(f.Shape, 2*width)
		if own > math.MaxInt64/4-bytes {
			return math.MaxInt64 / 4
		}
		bytes += own
	}
	return bytes
}

// put makes the outputs of a batch, which they own.
func (p *parser) put(c *Call, b *example.Batch) {
	s, d, r := len(p.sparse), len(p.dense), len(p.ragged)
	for i, f := range p.sparse {
		column := &b.Columns[f.column]
		c.Out[i], c.Out[2*s+i] = ColumnIndices(c.Out[i], b.Rows, column)
		c.Out[s+i] = ColumnValues(c.Out[s+i], column, []int{column.Len()})
	}
	for i, f := range p.dense {
		column := &b.Columns[f.column]
		c.Out[3*s+i] = ColumnValues(c.Out[3*s+i], column, append([]int{b.Rows}, column.Feature.Shape...))
	}
	for i, f := range p.ragged {
		column := &b.Columns[f.column]
		at := 3*s + d + i
		c.Out[at], c.Out[at+r] = ColumnValues(c.Out[at], column, []int{column.Len()}), ColumnSplits(nil, f.splits, column)
	}
}

// parsedWidths returns how many tensors each output of a parsing node is.
func parsedWidths(def *nodepb.NodeDef) []int {
	n := &Node{Def: def}
	s, d, r := len(n.types("sparse_types")), len(n.types("Tdense")), len(n.types("ragged_value_types"))
	return []int{s, s, s, d, r, r}
}

var parsedOutputs = []string{"sparse_indices", "sparse_values", "sparse_shapes", "dense_values", "ragged_values", "ragged_row_splits"}
