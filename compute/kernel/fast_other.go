//go:build !amd64

package kernel

// No function is faster than Go here.

func mapFast(ISA, Func, []float32, []float32) bool              { return false }
func (g *gemm) prepare()                                        {}
func (g *gemm) fast(int, int, int, int) bool                    { return false }
func slopeFast(ISA, Func, []float32, []float32, []float32) bool { return false }
func combineFast(ISA, Binary, []float32, []float32, []float32, Shape, int, int, bool) bool {
	return false
}
func sumRowsFast(ISA, []float32, []float32, int, int) bool                         { return false }
func sumColumnsFast(ISA, []float32, []float32, int) bool                           { return false }
func laneSumsFast(ISA, *laneSum, []float32) bool                                   { return false }
func squareSumsFast(ISA, *[lanes]float64, []float32) bool                          { return false }
func rowwiseFast(ISA, rowwise, []float32, []float32, []float32, int) bool          { return false }
func (s *step) fast(ISA, int, int) bool                                            { return false }
func (m *mask) fast(ISA, []float32) bool                                           { return false }
func gatherFast(ISA, []float32, []float32, []int, int, int) (int, bool)            { return 0, false }
func scatterFast(ISA, []float32, []float32, []int, int, int, int, int) (int, bool) { return 0, false }
func sparseFast(ISA, []float32, []float32, []int, []float32, int, int, int) (int, bool) {
	return 0, false
}
func sparseSlopeFast(ISA, []float32, []float32, []int, []float32, int, int, int, int, int) (int, bool) {
	return 0, false
}
