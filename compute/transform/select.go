package transform

// buildSelect takes from input 1 where input 0 is true, from input 2 where it isn't. All three broadcast.
func buildSelect(n *node) (kernel, error) {
	if err := n.takes(3); err != nil {
		return nil, err
	}
	if err := n.want(boolType, 0, n.in[1]); err != nil {
		return nil, err
	}
	n.out = n.in[1:2]
	switch n.in[1] {
	case float32Type:
		return selected[float32], nil
	case float64Type:
		return selected[float64], nil
	case int32Type:
		return selected[int32], nil
	case int64Type:
		return selected[int64], nil
	case boolType:
		return selected[bool], nil
	case stringType:
		return selected[string], nil
	}
	return nil, n.wantAt(1, float32Type)
}

func selected[T element](c *call) error {
	when, a, b := arg[bool](c, 0), arg[T](c, 1), arg[T](c, 2)
	dims, err := c.broadcast(a.dims, b.dims)
	if err != nil {
		return err
	}
	if dims, err = c.broadcast(when.dims, dims); err != nil {
		return err
	}
	w, mw := spread(when, dims)
	x, mx := spread(a, dims)
	y, my := spread(b, dims)
	out := room[T](c, 0, dims...).data
	for i := range out {
		if w[i&mw] {
			out[i] = x[i&mx]
		} else {
			out[i] = y[i&my]
		}
	}
	return nil
}

// buildClip is min(max(x, input 1), input 2).
func buildClip(n *node) (kernel, error) {
	if err := n.takes(3); err != nil {
		return nil, err
	}
	if err := n.wantSame(); err != nil {
		return nil, err
	}
	n.out = n.in[:1]
	highest, ok := numbers(larger, larger, larger, larger)[n.in[0]]
	if !ok {
		return nil, n.wantAt(0, float32Type)
	}
	lowest := numbers(smaller, smaller, smaller, smaller)[n.in[0]]
	return func(c *call) error {
		low := call{in: []value{c.in[0], c.in[2]}, out: []value{nil}, most: c.most}
		if err := lowest(&low); err != nil {
			return err
		}
		high := call{in: []value{low.out[0], c.in[1]}, out: c.out, most: c.most}
		return highest(&high)
	}, nil
}
