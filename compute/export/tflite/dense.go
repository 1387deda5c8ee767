package tflite

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"github.com/stoker-ml/stoker/compute/nn"
)

// layer is a sequence of nodes that one FULLY_CONNECTED computes: an OpMatMul, the addition of a
// bias, an OpRelu. No other node uses the values between them.
type layer struct {
	last string // the node whose value it computes
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

// only returns the only user, or nil if there are none or several.
func only(users []*nn.Node) *nn.Node {
	if len(users) != 1 {
		return nil
	}
	return users[0]
}

// biasOf returns the param of that width that n adds to its first operand, or nil.
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

// Versions of FULLY_CONNECTED, so that a runtime which would have other outputs refuses the file.
const (
	eightVersion = 4 // all in int8; runtimes of 2023 know a scale for each column
	// For weights in int8: older runtimes would use the first column's scale for all.
	dynamicVersion = 12
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

// isLarge reports whether a matrix has so many numbers that 8 bits save more than they cost;
// TensorFlow's converter has the same limit.
func isLarge(p *nn.Param) bool { return len(p.Values) >= 1024 }

// allFinite returns an error with the param that has a number which 8 bits can't represent.
func allFinite(params []nn.Param) error {
	for _, p := range params {
		for i, v := range p.Values {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return fmt.Errorf("param %q: its number %d is %v, which int8 can't hold", p.Name, i, v)
			}
		}
	}
	return nil
}

// matrix returns a param of rank 2 as float32, kept in half precision if the file is.
func (l *lowering) matrix(p *nn.Param) int32 {
	return l.floats(p, "/matrix", shapeOf(p), p.Values)
}

// columns returns a matrix [in, out] as FULLY_CONNECTED takes it: [out, in].
func (l *lowering) columns(p *nn.Param) int32 {
	return l.floats(p, "/columns", []int32{int32(p.Shape[1]), int32(p.Shape[0])}, transposed(p))
}

func transposed(p *nn.Param) []float32 {
	rows, columns := p.Shape[0], p.Shape[1]
	t := make([]float32, len(p.Values))
	for i := range rows {
		for j := range columns {
			t[j*rows+i] = p.Values[i*columns+j]
		}
	}
	return t
}

// floats returns a constant of a param's numbers, once for each form.
func (l *lowering) floats(p *nn.Param, form string, shape []int32, values []float32) int32 {
	key := p.Name + form
	if t, ok := l.stored[key]; ok {
		return t
	}
	l.stored[key] = l.newFloats(tensor{name: p.Name, shape: shape}, values)
	return l.stored[key]
}

// newFloats fills t, in half precision if the file has that and all numbers fit.
func (l *lowering) newFloats(t tensor, values []float32) int32 {
	half, ok := halves(values)
	if l.o.Quantization != Float16 || !ok {
		t.data = floatBytes(values...)
		return l.add(t)
	}
	kept := l.add(tensor{name: t.name + "/float16", kind: float16Type, shape: t.shape, data: half})
	return l.emit(operator{code: opDequantize, version: 3, in: []int32{kept}}, t)
}

// halves rounds to half precision. A number that this would make infinite is not ok.
func halves(values []float32) (data []byte, ok bool) {
	data = make([]byte, 0, 2*len(values))
	for _, v := range values {
		h := float16.Fromfloat32(v)
		if h.IsInf(0) && !math.IsInf(float64(v), 0) {
			return nil, false
		}
		data = binary.LittleEndian.AppendUint16(data, h.Bits())
	}
	return data, true
}

// columnScales returns the scales in which each column's largest number is 127, zero being 0.
func columnScales(p *nn.Param) []float32 {
	scales := make([]float32, p.Shape[1])
	for i, v := range p.Values {
		j := i % len(scales)
		scales[j] = max(scales[j], float32(math.Abs(float64(v)))/127)
	}
	for j, s := range scales {
		if s == 0 {
			scales[j] = 1
		}
	}
	return scales
}

// maxBias leaves room in the int32 of a bias for the sums that are added to it.
const maxBias = 1 << 30

// widen makes each column's scale so large that its bias fits into maxBias steps of input*column.
func widen(scales, bias []float32, input float32) {
	for j, b := range bias {
		scales[j] = max(scales[j], float32(math.Abs(float64(b))/(float64(input)*maxBias)))
	}
}

// eightColumns returns the matrix as [out, in] in 8 bits, -127 to 127, with a scale for each
// column.
func (l *lowering) eightColumns(p *nn.Param, scales []float32) int32 {
	values := transposed(p)
	data := make([]byte, len(values))
	for i, v := range values {
		q := math.RoundToEven(float64(v) / float64(scales[i/p.Shape[0]]))
		data[i] = byte(int8(min(max(q, -127), 127)))
	}
	shape := []int32{int32(p.Shape[1]), int32(p.Shape[0])}
	return l.add(tensor{name: p.Name, kind: int8Type, shape: shape, data: data, scaled: perColumn(scales)})
}

// eightBias returns a bias in int32, scaled as the sums that it is added to.
func eightBias(p *nn.Param, scales []float32, input float32) tensor {
	sums, values := make([]float32, len(scales)), make([]int32, len(scales))
	for j, b := range p.Values {
		sums[j] = scales[j] * input
		values[j] = int32(math.RoundToEven(float64(b) / float64(sums[j])))
	}
	return tensor{name: p.Name, kind: int32Type, shape: shapeOf(p), data: int32Bytes(values...), scaled: perColumn(sums)}
}

func perColumn(scales []float32) *quantization {
	return &quantization{scales: scales, zeros: make([]int64, len(scales))}
}
