package plan

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Ids that are moved before they are looked up are not numbers to the kernels.
func TestIDsCanBeComputed(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(w *written, ids *gorgonia.Node) *gorgonia.Node{
		"one below the other": func(w *written, ids *gorgonia.Node) *gorgonia.Node {
			return must(gorgonia.Concat(0, ids, ids))
		},
		"a slice": func(w *written, ids *gorgonia.Node) *gorgonia.Node {
			return must(gorgonia.Slice(ids, gorgonia.S(1, 4)))
		},
		"turned": func(w *written, ids *gorgonia.Node) *gorgonia.Node {
			matrix := must(gorgonia.Reshape(ids, tensor.Shape{2, 3}))
			return must(gorgonia.Reshape(must(gorgonia.Transpose(matrix, 1, 0)), tensor.Shape{6}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := write(t, 3, func(w *written) *gorgonia.Node {
				table, ids := w.param(5, 3), move(w, w.ids(5, 6))
				return w.weighted(must(gorgonia.ByIndices(table, ids, 0)))
			})
			got, p := w.byPlan(t)
			got.compare(t, w.byOps(t))
			checkMemory(t, p)
		})
	}
}
