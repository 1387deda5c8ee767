package savedmodel

// placed makes a sparse tensor whose values have their places in columns of their own, as
// tf.io.SparseFeature does: sorted by place.
func (f *function) placed(ft feature, columns map[string]parsed) parsed {
	name, values := "sparse/"+ft.name, columns[ft.column]
	slice := attrs{"T": typeAttr(int64Type), "Index": typeAttr(int32Type)}
	rows := f.op("Slice", name+"/rows", slice, values.indices,
		f.constant(name+"/first", shapeConst(0, 0)), f.constant(name+"/all", shapeConst(-1, 1)))
	places := []edge{rows}
	for _, c := range ft.indices {
		places = append(places, f.reshape(name+"/place", columns[c].values, int64Type, -1, 1))
	}
	join := func(name string, axis int, in ...edge) edge {
		a := attrs{"T": typeAttr(int64Type), "Tidx": typeAttr(int32Type), "N": intAttr(len(in))}
		return f.op("ConcatV2", name, a, append(in, f.constant(name+"/axis", int32Const(axis)))...)
	}
	indices := join(name+"/indices", 1, places...)
	batch := f.op("Slice", name+"/batch", slice, values.shape, f.constant(name+"/begin", shapeConst(0)), f.constant(name+"/one", shapeConst(1)))
	var bounds []int64
	for _, d := range ft.shape {
		bounds = append(bounds, int64(d))
	}
	shape := join(name+"/shape", 0, batch, f.constant(name+"/bounds", int64sConst(bounds)))
	sorted := f.node("SparseReorder", name, attrs{"T": typeAttr(ft.dtype)}, indices, values.values, shape)
	return parsed{indices: nodeOutput(sorted, "output_indices", 0), values: nodeOutput(sorted, "output_values", 0), shape: shape}
}
