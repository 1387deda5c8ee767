// Sums over many elements, always divided alike.
enum { PART = 256 };

// join_parts adds up what PART threads found, pairwise.
__device__ static double join_parts(double *found, double x) {
  int t = threadIdx.x;
  found[t] = x;
  __syncthreads();
  for (int half = PART / 2; half > 0; half /= 2) {
    if (t < half) found[t] += found[t + half];
    __syncthreads();
  }
  return found[0];
}

// sum_parts has each block add up its share of x, or of its squares.
KERNEL sum_parts(double *parts, const float *x, int n, int squares) {
  __shared__ double found[PART];
  double sum = 0;
  for (i64 i = element(); i < n; i += (i64)gridDim.x * PART) sum += squares ? (double)x[i] * x[i] : (double)x[i];
  sum = join_parts(found, sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// sum_finish adds up the parts, by one block.
KERNEL sum_finish(float *sum, const double *parts, int count, float scale, int add) {
  __shared__ double found[PART];
  double total = 0;
  for (int i = threadIdx.x; i < count; i += PART) total += parts[i];
  total = join_parts(found, total);
  if (threadIdx.x == 0) *sum = add ? *sum + scale * (float)total : scale * (float)total;
}

// norm_finish is the square root of the sum of the parts, by one block.
KERNEL norm_finish(double *norm, const double *parts, int count) {
  __shared__ double found[PART];
  double total = 0;
  for (int i = threadIdx.x; i < count; i += PART) total += parts[i];
  total = join_parts(found, total);
  if (threadIdx.x == 0) *norm = sqrt(total);
}

// sum_rows is one number a column. A block of 32 x 8 threads has 32 columns; each of 8 threads adds up every eighth row, then the
// first adds those up in order.
KERNEL sum_rows(float *sums, const float *x, int rows, int cols, float scale, int add) {
  __shared__ float found[ROWS][LANES];
  int col = blockIdx.x * LANES + threadIdx.x;
  float sum = 0.0f;
  if (col < cols)
    for (int r = threadIdx.y; r < rows; r += ROWS) sum += x[(i64)r * cols + col];
  found[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || col >= cols) return;
  sum = 0.0f;
  for (int i = 0; i < ROWS; i++) sum += found[i][threadIdx.x];
  sums[col] = add ? sums[col] + scale * sum : scale * sum;
}

// finish packs what is read after each step.
KERNEL finish(float *result, const float *loss, const int *status) {
  if (threadIdx.x != 0) return;
  result[0] = *loss;
  ((int *)result)[1] = *status;
}
