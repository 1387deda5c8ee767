package ops

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// eachText returns the kernel of a function that makes a short string of an element, or returns a
// part of it. A string that is made is charged afterwards: a function whose strings may be long
// charges them itself, with eachCharged.
func eachText[T tensor.Element](f func(T) string) Kernel {
	return eachCharged(func(c *Call, v T) string {
		s := f(v)
		if from, ok := any(v).(string); !ok || unsafe.StringData(from) != unsafe.StringData(s) {
			c.chargeText(len(s))
		}
		c.tick(len(s))
		return s
	})
}

// eachCharged returns the kernel of a function that charges itself for the string it makes of an
// element.
func eachCharged[T tensor.Element](f func(*Call, T) string) Kernel {
	return func(c *Call) error {
		in := arg[T](c, 0)
		out := newOutput[string](c, 0, in.Dims...).Data
		for i, v := range in.Data {
			out[i] = f(c, v)
		}
		return nil
	}
}

// joinedSize returns the total length of strings, with the separators between them.
func joinedSize(parts []string, separator string) int {
	size := len(separator) * max(0, len(parts)-1)
	for _, p := range parts {
		size += len(p)
	}
	return size
}

// blanks are the bytes of white space to TensorFlow.
const blanks = " \t\n\v\f\r"

func buildStrip(n *Node) (Kernel, error) {
	n.Out = []tensor.DType{tensor.String}
	return eachText(func(s string) string { return strings.Trim(s, blanks) }), n.want(tensor.String)
}

// buildStringLength counts bytes, or those that begin a character.
func buildStringLength(n *Node) (Kernel, error) {
	n.Out = []tensor.DType{tensor.Int32}
	length := func(s string) int32 { return int32(len(s)) }
	switch unit := n.Text("unit", "BYTE"); unit {
	case "BYTE":
	case "UTF8_CHAR":
		length = countCharacters
	default:
		return nil, fmt.Errorf("unit %q isn't known", unit)
	}
	return each(mapping(length)), n.want(tensor.String)
}

func countCharacters(s string) int32 {
	n := int32(0)
	for i := range len(s) {
		if utf8.RuneStart(s[i]) {
			n++
		}
	}
	return n
}

// buildStringJoin joins its inputs element by element. Scalars are repeated; other shapes must be
// equal.
func buildStringJoin(n *Node) (Kernel, error) {
	separator := n.Text("separator", "")
	n.Out = []tensor.DType{tensor.String}
	for i := range n.In {
		if err := n.wantAt(i, tensor.String); err != nil {
			return nil, err
		}
	}
	return func(c *Call) error {
		var dims []int
		for i := range c.In {
			a := arg[string](c, i)
			if len(a.Dims) == 0 {
				continue
			}
			if dims != nil && (tensor.Count(a.Dims) != tensor.Count(dims) || len(a.Dims) != len(dims)) {
				return fmt.Errorf("shapes %v and %v can't be joined", dims, a.Dims)
			}
			dims = a.Dims
		}
		out := newOutput[string](c, 0, dims...).Data
		parts := make([]string, len(c.In))
		for i := range out {
			for k := range parts {
				a := arg[string](c, k)
				parts[k] = a.Data[min(i, len(a.Data)-1)]
			}
			size := joinedSize(parts, separator)
			c.chargeText(size)
			c.tick(size + len(parts))
			out[i] = strings.Join(parts, separator)
		}
		return nil
	}, nil
}

// buildSplitStrings splits at a separator, or at white space if that is empty.
func buildSplitStrings(n *Node) (Kernel, error) {
	most := n.Integer("maxsplit", -1)
	return splitting(n, func(line, separator string) []string { return splitLine(line, separator, most) })
}

// buildSplitAtAny builds the older op: it splits at each of some bytes, or, if there are none of
// them, between all bytes.
func buildSplitAtAny(n *Node) (Kernel, error) {
	skip := n.Boolean("skip_empty", true)
	return splitting(n, func(line, separators string) []string {
		var words []string
		if separators == "" {
			for i := range len(line) {
				words = append(words, line[i:i+1])
			}
			return words
		}
		start := 0
		for i := range len(line) {
			if strings.IndexByte(separators, line[i]) >= 0 {
				words, start = append(words, line[start:i]), i+1
			}
		}
		if line != "" {
			words = append(words, line[start:])
		}
		if skip {
			words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
		}
		return words
	})
}

// splitting splits a list of strings into a sparse tensor.
func splitting(n *Node, split func(line, separator string) []string) (Kernel, error) {
	n.Out = []tensor.DType{tensor.Int64, tensor.String, tensor.Int64}
	return func(c *Call) error {
		lines, separator := arg[string](c, 0), arg[string](c, 1)
		if len(lines.Dims) != 1 || len(separator.Data) != 1 {
			return fmt.Errorf("splits a tensor of shape %v at %d separators", lines.Dims, len(separator.Data))
		}
		var words []string
		var indices []int64
		widest := 0
		for row, line := range lines.Data {
			c.tick(len(line))
			most := 48 * (int64(len(line)) + 1) // a word of each byte; they grow
			c.use(most)
			parts := split(line, separator.Data[0])
			c.drop(most - 96*int64(min(len(parts), len(line)/2)))
			for i := range parts {
				indices = append(indices, int64(row), int64(i))
			}
			words, widest = append(words, parts...), max(widest, len(parts))
		}
		copy(newOutput[int64](c, 0, len(words), 2).Data, indices)
		copy(newOutput[string](c, 1, len(words)).Data, words)
		copy(newOutput[int64](c, 2, 2).Data, []int64{int64(len(lines.Data)), int64(widest)})
		return nil
	}, n.want(tensor.String, tensor.String)
}

// splitLine splits as Python's str.split does.
func splitLine(line, separator string, most int) []string {
	if separator != "" {
		if most > 0 {
			most++
		} else {
			most = -1
		}
		return strings.SplitN(line, separator, most)
	}
	var words []string
	for line = strings.TrimLeft(line, blanks); line != ""; line = strings.TrimLeft(line, blanks) {
		end := strings.IndexAny(line, blanks)
		if end < 0 || most > 0 && len(words) == most {
			return append(words, line)
		}
		words, line = append(words, line[:end]), line[end:]
	}
	return words
}

// buildSubstr extracts bytes: from input 1 on, as many as input 2, or as there are.
func buildSubstr(n *Node) (Kernel, error) {
	n.Out = []tensor.DType{tensor.String}
	if unit := n.Text("unit", "BYTE"); unit != "BYTE" {
		return nil, fmt.Errorf("unit %q isn't known", unit)
	}
	if err := errors.Join(n.takes(3), n.wantInts(1, 2)); err != nil {
		return nil, err
	}
	return func(c *Call) error {
		lines, position, length := arg[string](c, 0), c.ints(1), c.ints(2)
		dims := lines.Dims
		if shape := c.tensor(1).Shape(); tensor.Count(shape) != 1 && (len(shape) != len(dims) || tensor.Count(shape) != tensor.Count(dims)) ||
			len(position) != len(length) || len(position) == 0 && len(lines.Data) > 0 {
			return fmt.Errorf("positions of shape %v, lengths of shape %v, strings of shape %v", shape, c.tensor(2).Shape(), dims)
		}
		out := newOutput[string](c, 0, dims...).Data
		for i, line := range lines.Data {
			at, size := position[min(i, len(position)-1)], length[min(i, len(length)-1)]
			if at < 0 {
				at += len(line)
			}
			if at < 0 || at > len(line) {
				return fmt.Errorf("position %d is out of range for a string of %d bytes", at, len(line))
			}
			if size < 0 {
				size = max(0, len(line)-at+size)
			}
			out[i] = line[at : at+min(size, len(line)-at)]
		}
		return nil
	}, n.wantAt(0, tensor.String)
}
