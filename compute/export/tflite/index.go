package tflite

import "github.com/stoker-ml/stoker/compute/nn"

func (l *lowering) cast(n *nn.Node) {
	op := operator{code: opCast, in: []int32{l.plain(n.In[0])}, options: castOptions(int64Type, float32Type)}
	l.values[n.Name] = newValue(l.emit(op, l.rows(n, float32Type)))
}

// oneHot is [rows, width, depth] laid out in rows.
func (l *lowering) oneHot(n *nn.Node) {
	depth := l.constant(int32Type, nil, int32Bytes(int32(n.Attr.Depth)))
	op := operator{code: opOneHot, in: []int32{l.plain(n.In[0]), depth, l.number(1), l.number(0)}, options: oneHotOptions()}
	shape := []int32{-1, int32(l.types[n.In[0]].Width), int32(n.Attr.Depth)}
	t := l.emit(op, tensor{name: n.Name + "/each", shape: shape})
	l.values[n.Name] = newValue(l.reshape(n.Name, t, l.types[n.Name].Width))
}

// embed is the rows of a table, [rows, width, d], laid out in rows. A runtime refuses an index that
// is out of range.
func (l *lowering) embed(n *nn.Node) {
	table, ids := l.params[n.In[1]], l.plain(n.In[0])
	eight := l.o.Quantization == Int8 || l.o.Quantization == DynamicInt8 && isLarge(table)
	if !eight {
		rows := l.gather(n, l.matrix(table), ids, tensor{}, 1)
		l.values[n.Name] = newValue(l.reshape(n.Name, rows, l.types[n.Name].Width))
		return
	}
	s := scalingFor(table.Values)
	rows := l.gather(n, l.eight(table.Name, s), ids, tensor{}.eight(s), 2)
	l.values[n.Name] = newEight(l.reshape(n.Name, rows, l.types[n.Name].Width), s)
}

// gather is like in what its elements are.
func (l *lowering) gather(n *nn.Node, table, ids int32, like tensor, version int32) int32 {
	like.name = n.Name + "/each"
	like.shape = []int32{-1, int32(l.types[n.In[0]].Width), l.tensors[table].shape[1]}
	op := operator{code: opGather, version: version, in: []int32{table, ids}, options: options{table: gatherTable}}
	return l.emit(op, like)
}
