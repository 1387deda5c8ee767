package nn

import (
	"fmt"
)

// Embedding looks up a row of dim trained numbers for each id: ids [b,w] become [b, w*dim]. The table [depth, dim] starts by
// initializer.SmallUniform, as Keras's Embedding. Ids must be within 0..depth-1.
func (b *Builder) Embedding(name string, ids Ref, depth, dim int) Ref {
	return b.EmbeddingWith(name, ids, depth, dim, ParamOptions{})
}

// embed is the rule of rows looked up in a table.
func (c *checker) embed(n *Node) (Type, error) {
	t, shape, err := c.withParam(n, Int64, 2)
	if err != nil {
		return Type{}, err
	}
	if n.Attr.Depth != 0 && n.Attr.Depth != shape[0] {
		return Type{}, fmt.Errorf("depth %d, but the param has shape %v", n.Attr.Depth, shape)
	}
	return Type{Float32, t.Width * shape[1]}, nil
}

// embed is y[r, c*d:(c+1)*d] = table[x[r,c]].
func embed(s *step, _ int) error {
	depth, d := s.param.Shape[0], s.param.Shape[1]
	for i, id := range s.in[0].Ints {
		if id < 0 || id >= int64(depth) {
			return s.outside(i, id, depth)
		}
		copy(s.out.Floats[i*d:(i+1)*d], s.param.Values[int(id)*d:])
	}
	return nil
}
