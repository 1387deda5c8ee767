package transform

import "fmt"

// table is a hash table that the graph looks things up in. It doesn't change.
type table struct {
	key, value dtype
	size       int
	impl       value // *mapped[K, V]
}

// mapped is a table of known types.
type mapped[K, V element] struct{ entries map[K]V }

// newTable makes a table of keys and values, which are as many.
func newTable(keys, values tensor) (*table, error) {
	t := &table{key: keys.dtype(), value: values.dtype(), size: keys.size()}
	if keys.size() != values.size() {
		return nil, fmt.Errorf("table of %d keys and %d values", keys.size(), values.size())
	}
	var err error
	switch k := keys.(type) {
	case *array[string]:
		t.impl, err = mapTo(k.data, values)
	case *array[int64]:
		t.impl, err = mapTo(k.data, values)
	case *array[int32]:
		t.impl, err = mapTo(k.data, values)
	default:
		return nil, fmt.Errorf("table with keys of type %v", t.key)
	}
	return t, err
}

func mapTo[K element](keys []K, values tensor) (value, error) {
	switch v := values.(type) {
	case *array[int64]:
		return entries(keys, v.data)
	case *array[int32]:
		return entries(keys, v.data)
	case *array[float32]:
		return entries(keys, v.data)
	case *array[float64]:
		return entries(keys, v.data)
	case *array[string]:
		return entries(keys, v.data)
	case *array[bool]:
		return entries(keys, v.data)
	}
	return nil, fmt.Errorf("table with values of type %v", values.dtype())
}

// entries refuses a key that has two values, as TensorFlow does.
func entries[K, V element](keys []K, values []V) (value, error) {
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
func (n *node) fixedTable() (*table, error) {
	if len(n.in) == 0 {
		return nil, fmt.Errorf("has no inputs")
	}
	t, ok := n.fixed[0].(*table)
	if !ok {
		return nil, fmt.Errorf("input 0 is no table that is known beforehand")
	}
	return t, nil
}

// buildFind looks up input 1. What isn't there becomes input 2.
func buildFind(n *node) (kernel, error) {
	t, err := n.fixedTable()
	if err != nil {
		return nil, err
	}
	if err := n.want(resourceType, t.key, t.value); err != nil {
		return nil, err
	}
	n.out = []dtype{t.value}
	switch t.key {
	case stringType:
		return findKernel[string](t)
	case int64Type:
		return findKernel[int64](t)
	default:
		return findKernel[int32](t)
	}
}

func findKernel[K element](t *table) (kernel, error) {
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

func (m *mapped[K, V]) find(c *call) error {
	keys, absent := arg[K](c, 1).data, arg[V](c, 2)
	if len(absent.data) != 1 {
		return fmt.Errorf("the default has %d values, wants one", len(absent.data))
	}
	out := room[V](c, 0, c.tensor(1).shape()...).data
	for i, k := range keys {
		v, ok := m.entries[k]
		if !ok {
			v = absent.data[0]
		}
		out[i] = v
	}
	return nil
}

func buildTableSize(n *node) (kernel, error) {
	t, err := n.fixedTable()
	if err != nil {
		return nil, err
	}
	n.out = []dtype{int64Type}
	return func(c *call) error { c.out[0] = scalar(int64(t.size)); return nil }, n.takes(1)
}
