package ops

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// format is the attributes of AsString, which become a format of C's printf.
type format struct {
	verb      byte // f, e or g
	precision int
	width     int
	fill      string
}

// defaultPrecision is printf's.
const defaultPrecision = 6

func buildAsString(n *Node) (Kernel, error) {
	f := format{verb: 'f', precision: n.Integer("precision", -1), width: n.Integer("width", -1), fill: n.Text("fill", "")}
	if n.Boolean("scientific", false) {
		f.verb = 'e'
	} else if n.Boolean("shortest", false) {
		f.verb = 'g'
	}
	if f.width > 1<<16 || f.precision > 1<<16 || len(f.fill) > 1 {
		return nil, fmt.Errorf("width %d, precision %d, fill %q", f.width, f.precision, f.fill)
	}
	if f.precision < 0 {
		f.precision = defaultPrecision
	}
	kernels := byType{
		tensor.Float32: eachText(func(v float32) string { return f.float(float64(v)) }),
		tensor.Float64: eachText(f.float),
		tensor.Int8:    eachText(func(v int8) string { return f.integer(int64(v)) }),
		tensor.Int16:   eachText(func(v int16) string { return f.integer(int64(v)) }),
		tensor.Int32:   eachText(func(v int32) string { return f.integer(int64(v)) }),
		tensor.Int64:   eachText(f.integer),
		tensor.Uint8:   eachText(func(v uint8) string { return f.integer(int64(v)) }),
		tensor.Bool:    eachText(strconv.FormatBool),
		tensor.String:  eachCharged(f.padText),
	}
	n.Out = []tensor.DType{tensor.String}
	if err := n.want(0); err != nil {
		return nil, err
	}
	k, ok := kernels[n.In[0]]
	if !ok {
		return nil, fmt.Errorf("input 0 is %v: %w", n.In[0], errType)
	}
	return k, nil
}

func (f format) float(v float64) string {
	switch {
	case math.IsNaN(v) && math.Signbit(v):
		return format{width: f.width}.pad("-nan")
	case math.IsNaN(v):
		return format{width: f.width}.pad("nan")
	case math.IsInf(v, 1):
		return format{width: f.width}.pad("inf")
	case math.IsInf(v, -1):
		return format{width: f.width}.pad("-inf")
	}
	return f.pad(strconv.FormatFloat(v, f.verb, f.precision, 64))
}

func (f format) integer(v int64) string { return f.pad(strconv.FormatInt(v, 10)) }

// pad fills s up to the width: with zeros after the sign, with spaces at the end if fill is "-",
// else with spaces before it.
func (f format) pad(s string) string {
	missing := max(0, f.width-len(s))
	switch {
	case (f.fill == "+" || f.fill == " ") && !strings.HasPrefix(s, "-"):
		s = f.fill + s
		return strings.Repeat(" ", max(0, f.width-len(s))) + s
	case missing == 0:
		return s
	case f.fill == "-":
		return s + strings.Repeat(" ", missing)
	case f.fill == "0" && strings.HasPrefix(s, "-"):
		return "-" + strings.Repeat("0", missing) + s[1:]
	case f.fill == "0":
		return strings.Repeat("0", missing) + s
	}
	return strings.Repeat(" ", missing) + s
}

// padText is like pad, for a string of any length, which it charges before.
func (f format) padText(c *Call, s string) string {
	c.tick(len(s))
	if len(s) >= f.width && f.fill != "+" && f.fill != " " {
		return s
	}
	c.chargeText(max(len(s)+len(f.fill), f.width))
	scratch := 2 * int64(len(s)+len(f.fill)+max(f.width, 0))
	c.use(scratch)
	defer c.drop(scratch)
	return f.pad(s)
}

func buildToNumber(n *Node) (Kernel, error) {
	out := n.dtype("out_type", tensor.Float32)
	n.Out = []tensor.DType{out}
	kernels := byType{
		tensor.Float32: parsing(func(s string) (float32, error) { v, err := parseFloat(s, 32); return float32(v), err }),
		tensor.Float64: parsing(func(s string) (float64, error) { return parseFloat(s, 64) }),
		tensor.Int32:   parsing(func(s string) (int32, error) { v, err := parseInt(s, 32); return int32(v), err }),
		tensor.Int64:   parsing(func(s string) (int64, error) { return parseInt(s, 64) }),
	}
	k, ok := kernels[out]
	if !ok {
		return nil, fmt.Errorf("out_type is %v: %w", out, errType)
	}
	return k, n.want(tensor.String)
}

func parsing[T tensor.Element](parse func(string) (T, error)) Kernel {
	return func(c *Call) error {
		in := arg[string](c, 0)
		out := newOutput[T](c, 0, in.Dims...).Data
		for i, s := range in.Data {
			c.tick(len(s))
			v, err := parse(s)
			if err != nil {
				return fmt.Errorf("%.100q is no number", s)
			}
			out[i] = v
		}
		return nil
	}
}

// parseFloat accepts the same as TensorFlow: white space around, infinities and NaN, hexadecimal
// integers, no digits grouped by "_". A number that is too large is infinite.
func parseFloat(s string, bits int) (float64, error) {
	s = strings.Trim(s, blanks)
	if strings.ContainsAny(s, "_") {
		return 0, errors.New("has _")
	}
	if strings.ContainsAny(s, "xX") && !strings.ContainsAny(s, "pP") {
		s += "p0"
	}
	v, err := strconv.ParseFloat(s, bits)
	if errors.Is(err, strconv.ErrRange) {
		return v, nil
	}
	return v, err
}

func parseInt(s string, bits int) (int64, error) {
	s = strings.Trim(s, blanks)
	if strings.HasPrefix(s, "+") {
		return 0, errors.New("begins with +")
	}
	return strconv.ParseInt(s, 10, bits)
}

// The groups of element types that ops support.
type (
	integer interface {
		int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
	}
	floating interface{ float32 | float64 }
	number   interface{ integer | floating }
)

// Value is an input or output of a node: a tensor.Tensor, a *Table, a *Variable or a list of
// tensors.
type Value any

// integer1 returns the one element of a tensor of int32 or int64.
func integer1(v Value) (int, error) {
	if t, ok := v.(tensor.Tensor); ok && t.Size() != 1 {
		return 0, fmt.Errorf("has %d elements, wants one", t.Size())
	}
	list := tensor.Integers(v)
	if len(list) != 1 {
		return 0, errors.New("is no integer")
	}
	return list[0], nil
}
