package plan

import "gorgonia.org/gorgonia"

// Lowered is an operation of ours in a Gorgonia expression: it says which instruction it is, over
// the operands that it has in the expression, in their order. Of Dropout's, only the shape of the
// result counts.
type Lowered interface {
	gorgonia.Op
	Lower() (Op, Attr)
}
