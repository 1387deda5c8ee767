package kernel

import (
	"encoding/binary"
	"math"
	"testing"
)

// floats converts bytes to numbers.
func floats(b []byte) []float32 {
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}

func FuzzMap(f *testing.F) {
	f.Add(byte(Exp), []byte("some bytes of numbers"))
	f.Add(byte(Log), []byte{0, 0, 0x80, 0x7f, 1, 0, 0, 0, 0, 0, 0x80, 0xff})
	f.Fuzz(func(t *testing.T, function byte, b []byte) {
		fn, x := Func(function%byte(Step+1)), floats(b)
		want, got := make([]float32, len(x)), make([]float32, len(x))
		mapPortable(fn, want, x)
		for _, isa := range isas() {
			mapped(isa, fn, got, x)
			agree(t, "Map at "+isa.String(), got, want, 1e-6)
		}
	})
}

func FuzzCombine(f *testing.F) {
	f.Add(byte(Div), byte(Row), uint8(3), true, []byte("some bytes of numbers, more than twelve of them, in three rows"))
	f.Fuzz(func(t *testing.T, function, shape byte, rows uint8, swapped bool, b []byte) {
		fn, s, numbers := Binary(function%byte(Ne+1)), Shape(shape%4), floats(b)
		n, r := len(numbers)/2, max(1, int(rows)%8)
		cols := n / r
		x, y := numbers[:r*cols], numbers[len(numbers)-r*cols:]
		if r*cols == 0 {
			return
		}
		s = s.of(r, cols)
		if s == Full || s == Scalar {
			r, cols = 1, r*cols
		}
		want, got := make([]float32, len(x)), make([]float32, len(x))
		combinePortable(fn, want, x, y, s, r, cols, swapped)
		for _, isa := range isas() {
			combine(isa, fn, got, x, y, s, r, cols, swapped)
			agree(t, "Combine at "+isa.String(), got, want, 0)
		}
	})
}

func FuzzSoftmax(f *testing.F) {
	f.Add(uint8(3), []byte("some bytes of numbers, more than twelve of them"))
	f.Fuzz(func(t *testing.T, cols uint8, b []byte) {
		x, c := floats(b), max(1, int(cols))
		x = x[:len(x)/c*c]
		want, got := make([]float32, len(x)), make([]float32, len(x))
		for _, w := range []rowwise{softmaxRows, logSoftmaxRows} {
			w.portable(want, x, nil, c)
			for _, isa := range isas() {
				if len(x) > 0 {
					w.do(isa, got, x, nil, c)
				}
				agree(t, "softmax at "+isa.String(), got, want, 2e-6)
			}
		}
	})
}
