package plan

import (
	"slices"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// fuse joins operations that one kernel can do: a value that only one other needs becomes a part of
// that one, which is changed in place.
func (c *compiler) fuse(r *roots) {
	c.shareRelu(r)
	f := fuser{users: usersOf(r)}
	for _, v := range needed(r) {
		f.bias(v)
		f.then(v)
		f.scale(v)
		f.add(v)
	}
}

// needed returns all values that the roots need, operands first, and otherwise in the order of the
// expression: first forward, then backward.
func needed(r *roots) []*value {
	found := map[*value]bool{}
	stack := r.all()
	var all []*value
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if found[v] {
			continue
		}
		found[v] = true
		all = append(all, v)
		stack = append(stack, v.needs()...)
	}
	slices.SortFunc(all, func(a, b *value) int { return a.seq - b.seq })
	return ordered(all)
}

// ordered puts operands first: a value that was changed in place may need one that was created
// after it.
func ordered(all []*value) []*value {
	done := make(map[*value]bool, len(all))
	order := make([]*value, 0, len(all))
	var visit func(v *value)
	visit = func(v *value) {
		if done[v] {
			return
		}
		done[v] = true
		for _, x := range v.needs() {
			if x.seq > v.seq || !done[x] {
				visit(x)
			}
		}
		order = append(order, v)
	}
	for _, v := range all {
		visit(v)
	}
	return order
}

// needs returns a value's operands, including the one that it adds to.
func (v *value) needs() []*value {
	if v.adds == nil {
		return v.in
	}
	return append(v.in[:len(v.in):len(v.in)], v.adds)
}

// usersOf counts how often each value is an operand or a root.
func usersOf(r *roots) map[*value]int {
	users := map[*value]int{}
	for _, v := range needed(r) {
		for _, x := range v.needs() {
			users[x]++
		}
	}
	for _, v := range r.all() {
		users[v]++
	}
	return users
}

// shareRelu computes the slope of a relu from its result, so that only the relu needs its operand.
func (c *compiler) shareRelu(r *roots) {
	relu := map[*value]*value{}
	for _, v := range needed(r) {
		if mapped(v, kernel.Relu) {
			relu[v.in[0]] = v
		}
	}
	for _, v := range needed(r) {
		if v.is(Slope) && v.attr.Func == kernel.Relu && relu[v.in[1]] != nil {
			v.in = []*value{v.in[0], relu[v.in[1]]}
		}
	}
}

type fuser struct{ users map[*value]int }

// only reports whether x is op, and needed once.
func (f *fuser) only(x *value, op Op) bool { return x.is(op) && f.users[x] == 1 }

// plain reports whether x is a product without any fused operation.
func plain(x *value) bool {
	return x.attr.Product.Then == kernel.Identity && len(x.in) == 2 && x.adds == nil
}

// bias: a b + z is one Gemm.
func (f *fuser) bias(v *value) {
	if !v.is(Combine) || v.attr.Binary != kernel.Add || v.attr.Shape != kernel.Row || v.in[1].source == splat {
		return
	}
	if g, z := v.in[0], v.in[1]; f.only(g, Gemm) && plain(g) {
		v.op, v.attr, v.in = Gemm, Attr{Product: g.attr.Product}, []*value{g.in[0], g.in[1], z}
	}
}

// then: f(a b + z) is one Gemm.
func (f *fuser) then(v *value) {
	if !v.is(Map) {
		return
	}
	if g := v.in[0]; f.only(g, Gemm) && g.attr.Product.Then == kernel.Identity && g.adds == nil {
		product := g.attr.Product
		product.Then = v.attr.Func
		v.op, v.attr, v.in = Gemm, Attr{Product: product}, g.in
	}
}

// scale: a sum times a constant is one Reduce.
func (f *fuser) scale(v *value) {
	by, ok := factor(v)
	if !ok {
		return
	}
	s := v.in[0]
	if !f.only(s, Reduce) || s.adds != nil {
		return
	}
	if s.attr.Scale != 0 {
		by *= s.attr.Scale
	}
	if by != 0 { // 0 means 1
		v.op, v.attr, v.in = Reduce, Attr{Axis: s.attr.Axis, Scale: by}, s.in
	}
}

// factor returns the number that v is a multiple by.
func factor(v *value) (float32, bool) {
	if mapped(v, kernel.Neg) {
		return -1, true
	}
	if v.is(Combine) && v.attr.Shape == kernel.Scalar && v.in[1].source == splat && v.attr.Binary == kernel.Mul {
		return v.in[1].number, true
	}
	return 0, false
}

// add: x + a b is a Gemm that adds to x, if nothing else needs x.
func (f *fuser) add(v *value) {
	if !v.is(Combine) || v.attr.Binary != kernel.Add || v.attr.Shape != kernel.Full {
		return
	}
	for i, g := range v.in {
		x := v.in[1-i]
		if !f.ours(x) || f.users[g] != 1 || g == x || !adding(g) {
			continue
		}
		v.op, v.attr, v.in, v.adds = g.op, g.attr, g.in, x
		if v.op == Gemm {
			v.attr.Product.Add = true
		} else {
			v.attr.Add = true
		}
		return
	}
}

// ours reports whether x is computed for only one other value, which may then write over it.
func (f *fuser) ours(x *value) bool {
	for x.source == view && f.users[x] == 1 {
		x = x.in[0]
	}
	return x.source == computed && f.users[x] == 1
}

// adding reports whether g's kernel can add to existing numbers.
func adding(g *value) bool {
	if g.adds != nil {
		return false
	}
	switch {
	case g.is(Gemm):
		return plain(g)
	case g.is(Reduce):
		return g.attr.Axis == Rows && g.attr.Scale == 0
	}
	return g.is(Scatter) || g.is(SparseSlope)
}
