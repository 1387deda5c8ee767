package tflite

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/nn"
)

// scaling gives meaning to 8 bits: real = scale * (q - zero), q from -128 to 127.
type scaling struct {
	scale float32
	zero  int32
}

// The scalings that the specification fixes for the results of some ops.
var (
	unitScaling   = scaling{1. / 256, -128} // 0 to 1: LOGISTIC, SOFTMAX
	signedScaling = scaling{1. / 128, 0}    // -1 to 1: TANH
)

// span is the smallest and the largest of some numbers.
type span struct {
	low, high float64
	known     bool
}

// take widens the span to finite numbers; infinities and NaN have no range.
func (s *span) take(values []float32) {
	for _, v := range values {
		x := float64(v)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		if !s.known {
			*s = span{x, x, true}
		}
		s.low, s.high = min(s.low, x), max(s.high, x)
	}
}

// scaling spreads 256 steps over the span, widened to 0, so that 0 is exact: scale = (high - low) /
// 255, zero = -128 - low / scale.
func (s span) scaling() scaling {
	low, high := min(s.low, 0), max(s.high, 0)
	scale := float32((high - low) / 255)
	// Only zeros, or numbers too small to differ from it.
	if scale < math.SmallestNonzeroFloat32*(1<<23) {
		return scaling{scale: 1}
	}
	zero := math.RoundToEven(-128 - low/float64(scale))
	return scaling{scale, int32(min(max(zero, -128), 127))}
}

func scalingFor(values []float32) scaling {
	var s span
	s.take(values)
	return s.scaling()
}

// bytes rounds numbers to the nearest steps; numbers beyond are clipped.
func (s scaling) bytes(values []float32) []byte {
	b := make([]byte, len(values))
	for i, v := range values {
		q := math.RoundToEven(float64(v)/float64(s.scale)) + float64(s.zero)
		b[i] = byte(int8(min(max(q, -128), 127)))
	}
	return b
}

// eight returns the tensor in 8 bits.
func (t tensor) eight(s scaling) tensor {
	t.kind = int8Type
	t.scaled = &quantization{scales: []float32{s.scale}, zeros: []int64{int64(s.zero)}}
	return t
}

// calibrate measures how large inputs and nodes get in the graph for the sample rows.
func calibrate(g *nn.Graph, samples map[string]nn.Value) (map[string]scaling, error) {
	e, err := nn.NewEvaluator(g, g.NodeNames()...)
	if err != nil {
		return nil, err
	}
	if err := e.Run(samples); err != nil {
		return nil, fmt.Errorf("sample rows for int8: %w", err)
	}
	if e.Rows() == 0 {
		return nil, fmt.Errorf("int8 needs sample rows, there are none")
	}
	scalings := map[string]scaling{}
	see := func(name string) {
		var s span
		if s.take(e.Value(name).Floats); s.known {
			scalings[name] = s.scaling()
		}
	}
	for _, in := range g.Inputs {
		see(in.Name)
	}
	for _, n := range g.Nodes {
		see(n.Name)
	}
	return scalings, nil
}

// weighted returns the nodes that depend on a matrix or a table. The nodes before them prepare
// features.
func weighted(g *nn.Graph) map[string]bool {
	w := map[string]bool{}
	for _, n := range g.Nodes {
		w[n.Name] = n.Op == nn.OpMatMul || n.Op == nn.OpEmbed
		for _, in := range n.In {
			w[n.Name] = w[n.Name] || w[in]
		}
	}
	return w
}
