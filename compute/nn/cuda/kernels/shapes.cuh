// Matrices moved into other places.

// place copies columns: y[r, ystart+j] = x[r, xstart+j] for j < cols; ywidth and xwidth are the columns of the whole matrices.
KERNEL place(float *y, const float *x, int rows, int cols, int ywidth, int ystart, int xwidth, int xstart) {
  int i = element();
  if (i >= rows * cols) return;
  i64 r = i / cols, j = i % cols;
  y[r * ywidth + ystart + j] = x[r * xwidth + xstart + j];
}

// pad is x in the columns of y from start, 0 elsewhere.
KERNEL pad(float *y, const float *x, int rows, int cols, int xwidth, int start) {
  int i = element();
  if (i >= rows * cols) return;
  i64 r = i / cols;
  int j = i % cols - start;
  y[i] = j >= 0 && j < xwidth ? x[r * xwidth + j] : 0.0f;
}

// transpose is y[c,r] = x[r,c], x [rows,cols], by blocks of 32 x 8 threads for 32 x 32 numbers.
KERNEL transpose(float *y, const float *x, int rows, int cols) {
  __shared__ float tile[LANES][LANES + 1];
  int col = blockIdx.x * LANES + threadIdx.x, row0 = blockIdx.y * LANES;
  for (int i = threadIdx.y; i < LANES; i += ROWS)
    if (col < cols && row0 + i < rows) tile[i][threadIdx.x] = x[(i64)(row0 + i) * cols + col];
  __syncthreads();
  int row = row0 + threadIdx.x, col0 = blockIdx.x * LANES;
  for (int i = threadIdx.y; i < LANES; i += ROWS)
    if (row < rows && col0 + i < cols) y[(i64)(col0 + i) * rows + row] = tile[threadIdx.x][i];
}
