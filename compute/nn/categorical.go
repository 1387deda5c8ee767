package nn

// Vocabulary is the index of each string in tokens, or len(tokens) for one that isn't there: ids of depth len(tokens)+1.
func (b *Builder) Vocabulary(name string, x Ref, tokens []string) Ref {
	return b.node(name, Type{Int64, x.Type.Width}, Node{
		Op: OpVocab, In: []string{x.Name}, Attr: Attr{Depth: len(tokens) + 1, Vocabulary: tokens},
	})
}

// Hash is the bucket of each string, 0..buckets-1, the same as TensorFlow's StringToHashBucketFast.
func (b *Builder) Hash(name string, x Ref, buckets int) Ref {
	return b.node(name, Type{Int64, x.Type.Width}, Node{Op: OpHash, In: []string{x.Name}, Attr: Attr{Depth: buckets}})
}

// Clamp keeps ids 0..depth-2 and makes all others depth-1, the bucket for the unknown.
func (b *Builder) Clamp(name string, x Ref, depth int) Ref {
	return b.node(name, x.Type, Node{Op: OpClamp, In: []string{x.Name}, Attr: Attr{Depth: depth}})
}

// OneHot is 1 at the place of each id and 0 elsewhere: ids [b,w] become [b, w*depth].
func (b *Builder) OneHot(name string, ids Ref, depth int) Ref {
	t := Type{Float32, ids.Type.Width * depth}
	return b.node(name, t, Node{Op: OpOneHot, In: []string{ids.Name}, Attr: Attr{Depth: depth}})
}

// Cast takes integers as numbers. float32 holds them exactly up to 2^24.
func (b *Builder) Cast(name string, x Ref) Ref {
	return b.node(name, Type{Float32, x.Type.Width}, Node{Op: OpCast, In: []string{x.Name}})
}
