package kernel

// SumRows is sums[c] = sum_r x[r,c], in the order of r; added to sums where add.
func (t *Team) SumRows(sums, x []float32, rows, cols int, add bool) { panic("kernel: not yet") }

// SumColumns is sums[r] = sum_c x[r,c].
func (t *Team) SumColumns(sums, x []float32, rows, cols int) { panic("kernel: not yet") }

// MaxColumns is the largest of each row; NaN if there is one. where, if not nil, takes its column, the first of equal ones.
func (t *Team) MaxColumns(largest []float32, where []int, x []float32, rows, cols int) {
	panic("kernel: not yet")
}

// Sum is the sum of all, by lanes of a fixed number that are added up in float64.
func (t *Team) Sum(x []float32) float32 { panic("kernel: not yet") }

// SumSquares is the sum of all squares, as Sum, in float64.
func (t *Team) SumSquares(x []float32) float64 { panic("kernel: not yet") }

// Finite says whether no element is NaN or infinite; where one is, at is the first.
func (t *Team) Finite(x []float32) (at int, ok bool) { panic("kernel: not yet") }

// Softmax is y[r,j] = exp(x[r,j] - m) / sum_k exp(x[r,k] - m), m the largest of the row.
func (t *Team) Softmax(y, x []float32, rows, cols int) { panic("kernel: not yet") }

// LogSoftmax is y[r,j] = x[r,j] - m - log sum_k exp(x[r,k] - m): finite where Softmax underflows.
func (t *Team) LogSoftmax(y, x []float32, rows, cols int) { panic("kernel: not yet") }

// SoftmaxSlope is dx[j] = (dy[j] - sum_k dy[k] y[k]) y[j] by rows, y = softmax(x).
func (t *Team) SoftmaxSlope(dx, dy, y []float32, rows, cols int) { panic("kernel: not yet") }

// LogSoftmaxSlope is dx[j] = dy[j] - exp(y[j]) sum_k dy[k] by rows, y = logsoftmax(x).
func (t *Team) LogSoftmaxSlope(dx, dy, y []float32, rows, cols int) { panic("kernel: not yet") }

// Gather is y[i,:] = table[ids[i],:], with width columns. ids must be within the table: it panics on others.
func (t *Team) Gather(y, table []float32, ids []int, width int) { panic("kernel: not yet") }

// ScatterAdd is table[ids[i],:] += y[i,:] in the order of i, so that ids may repeat.
func (t *Team) ScatterAdd(table, y []float32, ids []int, width int) { panic("kernel: not yet") }

// SparseGemm is y[r,:] = sum_p values[r,p] w[ids[r,p],:] over the places p of a row, in their order, w with width columns. An id
// below 0 counts as nothing.
func (t *Team) SparseGemm(y, values []float32, ids []int, w []float32, rows, places, width int) {
	panic("kernel: not yet")
}

// SparseGemmSlope is dw[ids[r,p],:] += values[r,p] dy[r,:], in the order of r and p.
func (t *Team) SparseGemmSlope(dw, values []float32, ids []int, dy []float32, rows, places, width int) {
	panic("kernel: not yet")
}

// Dropout is the mask of a layer at a step: mask[i] is 0 with probability rate, else 1/(1-rate). What is drawn for i depends on seed,
// stream, step and i alone: Philox 4x32-10, key (seed), counter (i/4, step, stream), uniform = 24 high bits / 2^24, 0 where uniform < rate.
func (t *Team) Dropout(mask []float32, rate float32, seed, stream, step uint64) {
	panic("kernel: not yet")
}
