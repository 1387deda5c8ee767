package nn

import "fmt"

// WideDeep are the arguments of Builder.WideDeep: the wide & deep model of TFX's Chicago taxi example (taxi_utils_native_keras.py,
// after Cheng et al. 2016). Where the example has a number, it stands behind.
type WideDeep struct {
	Deep   []Ref // numbers, already scaled: trip_miles, fare, trip_seconds
	Hidden []int // units of the deep layers, the first first: 100, 70, 48, 34

	// Activation is that of the deep layers. The example has "", none.
	Activation Op

	Wide  []Ref // int64 ids, each of width 1 or more: vocabularies, buckets, categories
	Depth []int // of each of Wide: 1010 for a vocabulary, 10 for buckets, 24, 31 and 13 for hour, day and month

	Units int // of the logits; 0: 1, as in the example
}

// WideDeep puts numbers through dense layers, and ids as they are next to the result: one-hot, each of its own depth. A dense
// layer over both gives the logits. An id outside of its depth counts as none. Layers are called <name>/deep_0, <name>/deep_1 and so
// on, and <name>/logits.
func (b *Builder) WideDeep(name string, o WideDeep) Ref {
	if len(o.Deep) == 0 || len(o.Hidden) == 0 || len(o.Wide) == 0 || len(o.Depth) != len(o.Wide) {
		b.fail(fmt.Errorf("wide & deep %q: %d numbers, %d hidden layers, %d ids with %d depths: expected some of each, and a depth for each id",
			name, len(o.Deep), len(o.Hidden), len(o.Wide), len(o.Depth)))
		return Ref{Type: Type{Float32, 1}}
	}
	deep := b.together(name+"/deep", o.Deep)
	for i, units := range o.Hidden {
		deep = b.Dense(fmt.Sprintf("%s/deep_%d", name, i), deep, units, o.Activation)
	}
	hot := []Ref{deep}
	for i, ids := range o.Wide {
		hot = append(hot, b.OneHot(fmt.Sprintf("%s/wide_%d", name, i), ids, o.Depth[i]))
	}
	return b.Dense(name+"/logits", b.Concat(name+"/all", hot...), max(o.Units, 1), "")
}

// together is all of xs side by side.
func (b *Builder) together(name string, xs []Ref) Ref {
	if len(xs) == 1 {
		return xs[0]
	}
	return b.Concat(name, xs...)
}
