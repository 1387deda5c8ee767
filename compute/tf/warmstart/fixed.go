package warmstart

import "strings"

// isFixed says that a tensor is the same for every example, up to its shape.
func (t *tracer) isFixed(f *frame, tensor string, deep int) bool {
	o, ok := f.origin(tensor)
	if t.work++; !ok || t.work > maxWork || deep > maxDepth {
		return false
	}
	if o.node == nil {
		return o.object >= 0
	}
	switch o.node.GetOp() {
	case "Const", "ReadVariableOp", "VariableV2", "Fill", "ZerosLike", "OnesLike", "LookupTableSizeV2":
		return true
	case "Identity", "Cast", "Sqrt", "Rsqrt", "Reshape", "ExpandDims", "Maximum", "AddV2", "Add", "Sub", "Mul", "Neg":
		for _, in := range o.node.GetInput() {
			if !strings.HasPrefix(in, "^") && !t.isFixed(o.frame, in, deep+1) {
				return false
			}
		}
		return true
	}
	return false
}
