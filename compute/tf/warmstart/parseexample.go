package warmstart

// parsed returns the columns of a feature that is parsed from a tf.Example.
func (t *tracer) parsed(o origin) []column {
	sparse, dense := parseKeys(t, o)
	at, ok := parseOutput(o, len(sparse))
	switch {
	case !ok:
		return nil
	case at.dense && at.index < len(dense):
		width := 1
		if shapes := o.node.GetAttr()["dense_shapes"].GetList().GetShape(); at.index < len(shapes) {
			for _, d := range shapes[at.index].GetDim() {
				if d.GetSize() < 1 || d.GetSize() > int64(maxColumns/width) {
					return nil
				}
				width *= int(d.GetSize())
			}
		}
		return features(dense[at.index], width, nil)
	case !at.dense && at.index < len(sparse):
		return features(sparse[at.index], 1, nil)
	}
	return nil
}

// parseKeys returns the names of the features that an op parses.
func parseKeys(t *tracer, o origin) (sparse, dense []string) {
	in := o.node.GetInput()
	// Inputs: serialized, names, sparse keys, dense keys, ragged keys, defaults.
	if o.node.GetOp() == "ParseExampleV2" {
		if len(in) < 4 {
			return nil, nil
		}
		return t.strings(o.frame, in[2]), t.strings(o.frame, in[3])
	}
	// serialized, names, a tensor for each sparse key, one for each dense key, defaults
	count := func(attr string) int { return int(max(0, min(o.node.GetAttr()[attr].GetI(), int64(len(in))))) }
	for i, name := range in[min(2, len(in)):] {
		switch {
		case i < count("Nsparse"):
			sparse = append(sparse, t.strings(o.frame, name)...)
		case i < count("Nsparse")+count("Ndense"):
			dense = append(dense, t.strings(o.frame, name)...)
		}
	}
	return sparse, dense
}

type parseIndex struct {
	dense bool
	index int
}

// parseOutput returns the feature whose values an output has: outputs are all indices, all values,
// all shapes of sparse features, then dense ones.
func parseOutput(o origin, sparse int) (parseIndex, bool) {
	switch {
	case o.output == "dense_values":
		return parseIndex{true, o.index}, o.index >= 0
	case o.output == "sparse_values":
		return parseIndex{false, o.index}, o.index >= 0
	case o.output != "":
		return parseIndex{}, false
	case o.index >= 3*sparse:
		return parseIndex{true, o.index - 3*sparse}, true
	}
	return parseIndex{false, o.index - sparse}, o.index >= sparse && o.index < 2*sparse
}
