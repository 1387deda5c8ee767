package tflite

import (
	"slices"

	"github.com/stoker-ml/stoker/compute/nn"
)

// layer is a run of nodes that one FULLY_CONNECTED computes: an OpMatMul, what adds a bias to it,
// an OpRelu. Nobody else takes what stands between them.
type layer struct {
	last string // the node whose value it gives
	bias *nn.Param
	relu bool
}

// findLayers finds the layers by their first node, and the other nodes that are in one.
func findLayers(g *nn.Graph, params map[string]*nn.Param) (layers map[string]layer, inLayer map[string]bool) {
	users := map[string][]*nn.Node{}
	for i, n := range g.Nodes {
		for _, in := range n.In {
			users[in] = append(users[in], &g.Nodes[i])
		}
	}
	for _, out := range g.Outputs {
		users[out.Node] = append(users[out.Node], nil)
	}
	layers, inLayer = map[string]layer{}, map[string]bool{}
	for _, n := range g.Nodes {
		if n.Op == nn.OpMatMul {
			layers[n.Name] = layerFrom(n, params, users, inLayer)
		}
	}
	return layers, inLayer
}

func layerFrom(n nn.Node, params map[string]*nn.Param, users map[string][]*nn.Node, inLayer map[string]bool) layer {
	y := layer{last: n.Name}
	if next := only(users[y.last]); next != nil {
		if bias := biasOf(next, params, params[n.In[1]].Shape[1]); bias != nil {
			y.last, y.bias = next.Name, bias
			inLayer[y.last] = true
		}
	}
	if next := only(users[y.last]); next != nil && next.Op == nn.OpRelu {
		y.last, y.relu = next.Name, true
		inLayer[y.last] = true
	}
	return y
}

// only is the one user there is, or nil.
func only(users []*nn.Node) *nn.Node {
	if len(users) != 1 {
		return nil
	}
	return users[0]
}

// biasOf is the param of that width that n adds to its first operand, or nil.
func biasOf(n *nn.Node, params map[string]*nn.Param, width int) *nn.Param {
	if n.Op != nn.OpAddBias && n.Op != nn.OpAdd {
		return nil
	}
	if p := params[n.In[1]]; p != nil && slices.Equal(p.Shape, []int{width}) {
		return p
	}
	return nil
}

// dense writes the layer that n begins.
func (l *lowering) dense(n *nn.Node) {
	y, w := l.layers[n.Name], l.params[n.In[1]]
	out := tensor{name: y.last, shape: []int32{-1, int32(w.Shape[1])}}
	op := operator{code: opFullyConnected, options: fullyConnectedOptions(y.relu, false)}
	if l.o.Quantization == Int8 {
		l.denseEight(n, y, op, out)
		return
	}
	op.in = []int32{l.plain(n.In[0]), none, none}
	if y.bias != nil {
		op.in[2] = l.plain(y.bias.Name)
	}
	if l.o.Quantization == DynamicInt8 && isLarge(w) {
		op.version, op.options = dynamicVersion, fullyConnectedOptions(y.relu, true)
		op.in[1] = l.eightColumns(w, columnScales(w))
	} else {
		op.in[1] = l.columns(w)
	}
	l.values[y.last] = newValue(l.emit(op, out))
}

// Versions of FULLY_CONNECTED, so that a runtime which would answer otherwise refuses the file.
const (
	eightVersion   = 4  // all in int8; runtimes of 2023 know a scale for each column
	dynamicVersion = 12 // weights in int8; older runtimes would take the first column's scale for all
)

// denseEight writes it in 8 bits: the sum of products is an int32 of scale input*column, and so is
// the bias.
func (l *lowering) denseEight(n *nn.Node, y layer, op operator, out tensor) {
	w, in, result := l.params[n.In[1]], l.scalingOf(n.In[0]), l.scalingOf(y.last)
	scales := columnScales(w)
	op.version = eightVersion
	op.in = []int32{l.ownEight(n.In[0]), none, none}
	if y.bias != nil {
		widen(scales, y.bias.Values, in.scale)
		op.in[2] = l.add(eightBias(y.bias, scales, in.scale))
	}
	op.in[1] = l.eightColumns(w, scales)
	l.values[y.last] = newEight(l.emit(op, out.eight(result)), result)
}
