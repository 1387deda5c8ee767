package ops

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Table is a hash table that a graph looks values up in. It doesn't change after a graph that uses
// it was compiled.
type Table struct {
	Key, Value tensor.DType

	name string
	size int
	impl Value // *mapped[K, V]; nil for a table that was not filled
}

// mapped is a table of known types.
type mapped[K, V tensor.Element] struct{ entries map[K]V }

// EmptyTable returns a table without entries, for Fill.
func EmptyTable(name string, key, value tensor.DType) (*Table, error) {
	if key != tensor.String && key != tensor.Int64 && key != tensor.Int32 {
		return nil, fmt.Errorf("table with keys of type %v", key)
	}
	return &Table{Key: key, Value: value, name: name}, nil
}

// mapBytes is the memory of an entry of a table, except the bytes of its strings.
const mapBytes = 96

// Fill fills the table with keys and as many values. Filling it again with the same has no effect.
// Its memory is charged to b.
func (t *Table) Fill(b *Budget, keys, values tensor.Tensor) (err error) {
	if keys == nil {
		keys = tensor.Empty(t.Key)
	}
	if values == nil {
		values = tensor.Empty(t.Value)
	}
	if values == nil || keys.DType() != t.Key || values.DType() != t.Value {
		return fmt.Errorf("table from %v to %v can't be filled with other types", t.Key, t.Value)
	}
	if keys.Size() != values.Size() {
		return fmt.Errorf("table of %d keys and %d values", keys.Size(), values.Size())
	}
	if err := b.Charge(mapBytes * int64(keys.Size())); err != nil {
		return fmt.Errorf("table %q: %w", t.name, err)
	}
	switch k := keys.(type) {
	case *tensor.Array[string]:
		t.impl, err = mapTo(b, k.Data, values)
	case *tensor.Array[int64]:
		t.impl, err = mapTo(b, k.Data, values)
	case *tensor.Array[int32]:
		t.impl, err = mapTo(b, k.Data, values)
	}
	t.size = keys.Size()
	return err
}

func mapTo[K tensor.Element](b *Budget, keys []K, values tensor.Tensor) (Value, error) {
	switch v := values.(type) {
	case *tensor.Array[int64]:
		return entries(b, keys, v.Data)
	case *tensor.Array[int32]:
		return entries(b, keys, v.Data)
	case *tensor.Array[float32]:
		return entries(b, keys, v.Data)
	case *tensor.Array[float64]:
		return entries(b, keys, v.Data)
	case *tensor.Array[string]:
		return entries(b, keys, v.Data)
	case *tensor.Array[bool]:
		return entries(b, keys, v.Data)
	}
	return nil, fmt.Errorf("table with values of type %v", values.DType())
}

// entries refuses a key that has two values, as TensorFlow does.
func entries[K, V tensor.Element](b *Budget, keys []K, values []V) (Value, error) {
	m := &mapped[K, V]{entries: make(map[K]V, len(keys))}
	for i, k := range keys {
		if i%pollEvery == 0 {
			if err := b.Poll(); err != nil {
				return nil, err
			}
		}
		if have, ok := m.entries[k]; ok && have != values[i] {
			return nil, fmt.Errorf("key %q has values %v and %v", fmt.Sprint(k), have, values[i])
		}
		m.entries[k] = values[i]
	}
	return m, nil
}

// fixedTable returns the table that input 0 always is.
func (n *Node) fixedTable() (*Table, error) {
	if len(n.In) == 0 {
		return nil, fmt.Errorf("has no inputs")
	}
	t, ok := n.Fixed[0].(*Table)
	if !ok {
		return nil, fmt.Errorf("input 0 is no table that is known beforehand")
	}
	if t.impl == nil {
		return nil, fmt.Errorf("the graph fills table %q in no way that is known", t.name)
	}
	return t, nil
}

// buildFind looks up input 1. The value of a missing key is input 2.
func buildFind(n *Node) (Kernel, error) {
	t, err := n.fixedTable()
	if err != nil {
		return nil, err
	}
	if err := n.want(tensor.Resource, t.Key, t.Value); err != nil {
		return nil, err
	}
	n.Out = []tensor.DType{t.Value}
	switch t.Key {
	case tensor.String:
		return findKernel[string](t)
	case tensor.Int64:
		return findKernel[int64](t)
	default:
		return findKernel[int32](t)
	}
}

func findKernel[K tensor.Element](t *Table) (Kernel, error) {
	switch m := t.impl.(type) {
	case *mapped[K, int64]:
		return m.find, nil
	case *mapped[K, int32]:
		return m.find, nil
	case *mapped[K, float32]:
		return m.find, nil
	case *mapped[K, float64]:
		return m.find, nil
	case *mapped[K, string]:
		return m.find, nil
	case *mapped[K, bool]:
		return m.find, nil
	}
	return nil, fmt.Errorf("table from %v to %v", t.Key, t.Value)
}

func (m *mapped[K, V]) find(c *Call) error {
	keys, absent := arg[K](c, 1).Data, arg[V](c, 2)
	if len(absent.Data) != 1 {
		return fmt.Errorf("the default has %d values, wants one", len(absent.Data))
	}
	out := newOutput[V](c, 0, c.tensor(1).Shape()...).Data
	for i, k := range keys {
		c.tick(8)
		v, ok := m.entries[k]
		if !ok {
			v = absent.Data[0]
		}
		out[i] = v
	}
	return nil
}

func buildTableSize(n *Node) (Kernel, error) {
	t, err := n.fixedTable()
	if err != nil {
		return nil, err
	}
	n.Out = []tensor.DType{tensor.Int64}
	return func(c *Call) error { c.Out[0] = tensor.Scalar(int64(t.size)); return nil }, n.takes(1)
}
