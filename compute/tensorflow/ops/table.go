package ops

import "fmt"

// table is a hash table that the graph looks things up in. It doesn't change.
type Table struct {
	key, value DType
	Size       int
	impl       Value // *mapped[K, V]
}

// mapped is a table of known types.
type mapped[K, V Element] struct{ entries map[K]V }

// newTable makes a table of keys and values, which are as many.
func NewTable(keys, values Tensor) (*Table, error) {
	t := &Table{key: keys.DType(), value: values.DType(), Size: keys.Size()}
	if keys.Size() != values.Size() {
		return nil, fmt.Errorf("table of %d keys and %d values", keys.Size(), values.Size())
	}
	var err error
	switch k := keys.(type) {
	case *Array[string]:
		t.impl, err = mapTo(k.Data, values)
	case *Array[int64]:
		t.impl, err = mapTo(k.Data, values)
	case *Array[int32]:
		t.impl, err = mapTo(k.Data, values)
	default:
		return nil, fmt.Errorf("table with keys of type %v", t.key)
	}
	return t, err
}

func mapTo[K Element](keys []K, values Tensor) (Value, error) {
	switch v := values.(type) {
	case *Array[int64]:
		return entries(keys, v.Data)
	case *Array[int32]:
		return entries(keys, v.Data)
	case *Array[float32]:
		return entries(keys, v.Data)
	case *Array[float64]:
		return entries(keys, v.Data)
	case *Array[string]:
		return entries(keys, v.Data)
	case *Array[bool]:
		return entries(keys, v.Data)
	}
	return nil, fmt.Errorf("table with values of type %v", values.DType())
}

// entries refuses a key that has two values, as TensorFlow does.
func entries[K, V Element](keys []K, values []V) (Value, error) {
	m := &mapped[K, V]{entries: make(map[K]V, len(keys))}
	for i, k := range keys {
		if have, ok := m.entries[k]; ok && have != values[i] {
			return nil, fmt.Errorf("key %q has values %v and %v", fmt.Sprint(k), have, values[i])
		}
		m.entries[k] = values[i]
	}
	return m, nil
}

// fixedTable is the table that input 0 always is.
func (n *Node) fixedTable() (*Table, error) {
	if len(n.In) == 0 {
		return nil, fmt.Errorf("has no inputs")
	}
	t, ok := n.Fixed[0].(*Table)
	if !ok {
		return nil, fmt.Errorf("input 0 is no table that is known beforehand")
	}
	return t, nil
}

// buildFind looks up input 1. What isn't there becomes input 2.
func buildFind(n *Node) (Kernel, error) {
	t, err := n.fixedTable()
	if err != nil {
		return nil, err
	}
	if err := n.want(Resource, t.key, t.value); err != nil {
		return nil, err
	}
	n.Out = []DType{t.value}
	switch t.key {
	case String:
		return findKernel[string](t)
	case Int64:
		return findKernel[int64](t)
	default:
		return findKernel[int32](t)
	}
}

func findKernel[K Element](t *Table) (Kernel, error) {
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
	return nil, fmt.Errorf("table from %v to %v", t.key, t.value)
}

func (m *mapped[K, V]) find(c *Call) error {
	keys, absent := arg[K](c, 1).Data, arg[V](c, 2)
	if len(absent.Data) != 1 {
		return fmt.Errorf("the default has %d values, wants one", len(absent.Data))
	}
	out := room[V](c, 0, c.tensor(1).Shape()...).Data
	for i, k := range keys {
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
	n.Out = []DType{Int64}
	return func(c *Call) error { c.Out[0] = Scalar(int64(t.Size)); return nil }, n.takes(1)
}
