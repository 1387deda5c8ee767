//go:build !amd64

package kernel

// No function is faster than Go here.

func mapFast(Level, Func, []float32, []float32) bool              { return false }
func (g *gemm) prepare()                                          {}
func (g *gemm) fast(int, int, int, int) bool                      { return false }
func slopeFast(Level, Func, []float32, []float32, []float32) bool { return false }
func combineFast(Level, Binary, []float32, []float32, []float32, Shape, int, int, bool) bool {
	return false
}
func sumRowsFast(Level, []float32, []float32, int, int) bool                         { return false }
func sumColumnsFast(Level, []float32, []float32, int) bool                           { return false }
func laneSumsFast(Level, *laneSum, []float32) bool                                   { return false }
func squareSumsFast(Level, *[lanes]float64, []float32) bool                          { return false }
func rowwiseFast(Level, rowwise, []float32, []float32, []float32, int) bool          { return false }
func (s *step) fast(Level, int, int) bool                                            { return false }
func (m *mask) fast(Level, []float32) bool                                           { return false }
func gatherFast(Level, []float32, []float32, []int, int, int) (int, bool)            { return 0, false }
func scatterFast(Level, []float32, []float32, []int, int, int, int, int) (int, bool) { return 0, false }
func sparseFast(Level, []float32, []float32, []int, []float32, int, int, int) (int, bool) {
	return 0, false
}
func sparseSlopeFast(Level, []float32, []float32, []int, []float32, int, int, int, int, int) (int, bool) {
	return 0, false
}
