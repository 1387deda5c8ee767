package nn

import (
	"fmt"
	"math"
	"sort"

	"github.com/stoker-ml/stoker/compute/fingerprint"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// host is a node that no kernel computes, as a plan.Host: one that converts data to ids and ids to
// numbers, chooses classes, or names them. Such a node has no gradient.
type host struct {
	node   *Node
	do     func(h *host, out plan.Slice, in []plan.Slice) error
	width  int            // of the first operand
	widths []int          // of all operands
	out    int            // width of the result
	vocab  map[string]int // of OpVocab
	hashes []uint64       // of OpCross: of one row
}

// newHost returns nil for a node that kernels compute.
func newHost(n *Node, types map[string]Type) *host {
	do := hostOf(n.Op)
	if do == nil {
		return nil
	}
	h := &host{node: n, do: do, out: types[n.Name].Width}
	for _, name := range n.In {
		h.widths = append(h.widths, types[name].Width)
	}
	h.width = h.widths[0]
	switch n.Op {
	case OpVocab:
		h.vocab = vocabIndex(n.Attr.Vocabulary)
	case OpCross:
		h.hashes = make([]uint64, h.out)
	}
	return h
}

func hostOf(op Op) func(h *host, out plan.Slice, in []plan.Slice) error {
	switch op {
	case OpLeakyRelu:
		return leakyRelu
	case OpDropNaN:
		return dropNaN
	case OpCast:
		return cast
	case OpOneHot:
		return oneHot
	case OpVocab:
		return vocab
	case OpHash:
		return hash
	case OpCross:
		return cross
	case OpClamp:
		return clamp
	case OpWithin:
		return within
	case OpBucket:
		return bucket
	case OpArgMax:
		return argMax
	case OpLabel:
		return label
	}
	return nil
}

// Name implements plan.Host.
func (h *host) Name() string { return h.node.Name }

// Do implements plan.Host.
func (h *host) Do(out plan.Slice, in []plan.Slice) error { return h.do(h, out, in) }

// outside returns the error of an id that is not within 0..size-1: element i of a node's operand of
// the given width.
func outside(n *Node, width, i int, id int64, size int) error {
	bad := &RowError{Row: i / width, Node: n.Name, Err: fmt.Errorf("index %d is outside 0..%d", id, size-1)}
	return fmt.Errorf("node %q, %s: %w", n.Name, n.Op, bad)
}

func leakyRelu(h *host, out plan.Slice, in []plan.Slice) error {
	for i, x := range in[0].Floats {
		if !(x > 0) {
			x *= h.node.Attr.Alpha
		}
		out.Floats[i] = x
	}
	return nil
}

func dropNaN(_ *host, out plan.Slice, in []plan.Slice) error {
	for i, x := range in[0].Floats {
		if x != x {
			x = 0
		}
		out.Floats[i] = x
	}
	return nil
}

func cast(_ *host, out plan.Slice, in []plan.Slice) error {
	for i, x := range in[0].Ints {
		out.Floats[i] = float32(x)
	}
	return nil
}

func oneHot(h *host, out plan.Slice, in []plan.Slice) error {
	depth := h.node.Attr.Depth
	clear(out.Floats)
	for i, id := range in[0].Ints {
		if id >= 0 && id < depth {
			out.Floats[i*depth+id] = 1
		}
	}
	return nil
}

// vocabIndex returns the index of each token; the first of equal ones counts.
func vocabIndex(tokens []string) map[string]int {
	m := make(map[string]int, len(tokens))
	for i, token := range tokens {
		if _, twice := m[token]; !twice {
			m[token] = i
		}
	}
	return m
}

func vocab(h *host, out plan.Slice, in []plan.Slice) error {
	for i, token := range in[0].Strings {
		id, ok := h.vocab[string(token)]
		if !ok {
			id = h.node.Attr.Depth - 1
		}
		out.Ints[i] = id
	}
	return nil
}

// hash computes TensorFlow's StringToHashBucketFast: FarmHash Fingerprint64 modulo the number of
// buckets.
func hash(h *host, out plan.Slice, in []plan.Slice) error {
	for i, token := range in[0].Strings {
		out.Ints[i] = int(fingerprint.Of(token) % uint64(h.node.Attr.Depth))
	}
	return nil
}

func clamp(h *host, out plan.Slice, in []plan.Slice) error {
	last := h.node.Attr.Depth - 1
	for i, id := range in[0].Ints {
		if id < 0 || id >= last {
			id = last
		}
		out.Ints[i] = id
	}
	return nil
}

// cross extends each row's hashes column by column: those of the columns before are at the front.
func cross(h *host, out plan.Slice, in []plan.Slice) error {
	width := h.out
	for r := range len(out.Ints) / width {
		h.hashes[0] = CrossKey
		have := 1
		for i := range in {
			have = h.crossColumn(have, &in[i], h.widths[i], r)
		}
		for i, x := range h.hashes {
			out.Ints[r*width+i] = int(x % uint64(h.node.Attr.Depth))
		}
	}
	return nil
}

// crossColumn makes w*have hashes from the first have, starting with the last one, so that none is
// overwritten before it is used.
func (h *host) crossColumn(have int, column *plan.Slice, w, r int) int {
	for i := have - 1; i >= 0; i-- {
		before := h.hashes[i]
		for j := w - 1; j >= 0; j-- {
			h.hashes[i*w+j] = fingerprint.Join(before, crossedAs(column, r*w+j))
		}
	}
	return have * w
}

// crossedAs returns the i-th value as a cross hashes it.
func crossedAs(s *plan.Slice, i int) uint64 {
	if s.Ints == nil {
		return fingerprint.Of(s.Strings[i])
	}
	return uint64(s.Ints[i])
}

func within(h *host, out plan.Slice, in []plan.Slice) error {
	for i, id := range in[0].Ints {
		if id < 0 || id >= h.node.Attr.Depth {
			id = int(h.node.Attr.Default)
		}
		out.Ints[i] = id
	}
	return nil
}

// bucket i holds boundaries[i-1] <= x < boundaries[i].
func bucket(h *host, out plan.Slice, in []plan.Slice) error {
	boundaries := h.node.Attr.Boundaries
	for i, x := range in[0].Floats {
		out.Ints[i] = sort.Search(len(boundaries), func(j int) bool { return x < boundaries[j] })
	}
	return nil
}

func argMax(h *host, out plan.Slice, in []plan.Slice) error {
	for r := range out.Ints {
		out.Ints[r] = argMaxRow(in[0].Floats[r*h.width : (r+1)*h.width])
	}
	return nil
}

// argMaxRow skips NaN, as TensorFlow does on the CPU; it returns 0 if no element is greater than
// the smallest number.
func argMaxRow(row []float32) int {
	best, largest := 0, float32(-math.MaxFloat32)
	for j, x := range row {
		if x > largest {
			best, largest = j, x
		}
	}
	return best
}

func label(h *host, out plan.Slice, in []plan.Slice) error {
	names := h.node.Attr.Vocabulary
	for i, id := range in[0].Ints {
		if id < 0 || id >= len(names) {
			return outside(h.node, h.width, i, int64(id), len(names))
		}
		out.Strings[i] = []byte(names[id])
	}
	return nil
}
