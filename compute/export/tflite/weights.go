package tflite

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/x448/float16"

	"github.com/stoker-ml/stoker/compute/nn"
)

// isLarge says that a matrix has so many numbers that 8 bits spare more than they cost;
// TensorFlow's converter draws the same line.
func isLarge(p *nn.Param) bool { return len(p.Values) >= 1024 }

// allFinite says which param has a number that 8 bits can't stand for.
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

// matrix is a param of rank 2 as float32, kept in half precision if the file is.
func (l *lowering) matrix(p *nn.Param) int32 {
	return l.floats(p, "/matrix", shapeOf(p), p.Values)
}

// columns is a matrix [in, out] as FULLY_CONNECTED takes it: [out, in].
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

// floats is a constant of a param's numbers, once for each form.
func (l *lowering) floats(p *nn.Param, form string, shape []int32, values []float32) int32 {
	key := p.Name + form
	if t, ok := l.stored[key]; ok {
		return t
	}
	l.stored[key] = l.newFloats(tensor{name: p.Name, shape: shape}, values)
	return l.stored[key]
}

// newFloats fills t, in half precision where the file has that and all numbers fit.
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

// columnScales are the scales in which each column's largest number is 127, zero being 0.
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

// maxBias leaves headroom in the int32 that a bias is, for what is added to it.
const maxBias = 1 << 30

// widen makes each column's scale so large that its bias fits into maxBias steps of input*column.
func widen(scales, bias []float32, input float32) {
	for j, b := range bias {
		scales[j] = max(scales[j], float32(math.Abs(float64(b))/(float64(input)*maxBias)))
	}
}

// eightColumns is the matrix as [out, in] in 8 bits, -127 to 127, with a scale for each column.
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

// eightBias is a bias in int32, scaled as the sums that it is added to.
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
