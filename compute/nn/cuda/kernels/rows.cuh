// Rows of a matrix: a block of 32 x 8 threads has 8 rows, 32 lanes each. A lane goes along its row in steps of 32; what the lanes
// found is joined pairwise, in a fixed order. Rows beyond the last wait with the others.
enum { LANES = 32, ROWS = 8 };

// Lanes joins what the lanes of a row found: all of them get the result.
__device__ static float join_sum(float (*found)[LANES], float x) {
  int lane = threadIdx.x, row = threadIdx.y;
  found[row][lane] = x;
  __syncthreads();
  for (int half = LANES / 2; half > 0; half /= 2) {
    if (lane < half) found[row][lane] += found[row][lane + half];
    __syncthreads();
  }
  float sum = found[row][0];
  __syncthreads();
  return sum;
}

__device__ static float join_max(float (*found)[LANES], float x) {
  int lane = threadIdx.x, row = threadIdx.y;
  found[row][lane] = x;
  __syncthreads();
  for (int half = LANES / 2; half > 0; half /= 2) {
    if (lane < half) found[row][lane] = max_of(found[row][lane], found[row][lane + half]);
    __syncthreads();
  }
  float largest = found[row][0];
  __syncthreads();
  return largest;
}

// A row's own part of a matrix, and how long it is: 0 beyond the last row.
#define OWN_ROW(rows, cols)                                                                                                    \
  __shared__ float found[ROWS][LANES];                                                                                         \
  int row = blockIdx.x * ROWS + threadIdx.y, lane = threadIdx.x;                                                               \
  int length = row < (rows) ? (cols) : 0;                                                                                      \
  i64 at = (i64)row * (cols)

__device__ static float row_max(float (*found)[LANES], const float *x, i64 at, int lane, int length) {
  float largest = -INFINITY;
  for (int j = lane; j < length; j += LANES) largest = max_of(largest, x[at + j]);
  return join_max(found, largest);
}

KERNEL sum_columns(float *sums, const float *x, int rows, int cols, float scale, int add) {
  OWN_ROW(rows, cols);
  float sum = 0.0f;
  for (int j = lane; j < length; j += LANES) sum += x[at + j];
  sum = scale * join_sum(found, sum);
  if (lane == 0 && row < rows) sums[row] = add ? sums[row] + sum : sum;
}

KERNEL max_columns(float *largest, const float *x, int rows, int cols) {
  OWN_ROW(rows, cols);
  float most = row_max(found, x, at, lane, length);
  if (lane == 0 && row < rows) largest[row] = most;
}

KERNEL softmax(float *y, const float *x, int rows, int cols) {
  OWN_ROW(rows, cols);
  float most = row_max(found, x, at, lane, length), sum = 0.0f;
  for (int j = lane; j < length; j += LANES) sum += expf(x[at + j] - most);
  sum = join_sum(found, sum);
  for (int j = lane; j < length; j += LANES) y[at + j] = expf(x[at + j] - most) / sum;
}

KERNEL log_softmax(float *y, const float *x, int rows, int cols) {
  OWN_ROW(rows, cols);
  float most = row_max(found, x, at, lane, length), sum = 0.0f;
  for (int j = lane; j < length; j += LANES) sum += expf(x[at + j] - most);
  sum = logf(join_sum(found, sum));
  for (int j = lane; j < length; j += LANES) y[at + j] = x[at + j] - most - sum;
}

KERNEL softmax_slope(float *dx, const float *dy, const float *y, int rows, int cols) {
  OWN_ROW(rows, cols);
  float sum = 0.0f;
  for (int j = lane; j < length; j += LANES) sum += dy[at + j] * y[at + j];
  sum = join_sum(found, sum);
  for (int j = lane; j < length; j += LANES) dx[at + j] = (dy[at + j] - sum) * y[at + j];
}

KERNEL log_softmax_slope(float *dx, const float *dy, const float *y, int rows, int cols) {
  OWN_ROW(rows, cols);
  float sum = 0.0f;
  for (int j = lane; j < length; j += LANES) sum += dy[at + j];
  sum = join_sum(found, sum);
  for (int j = lane; j < length; j += LANES) dx[at + j] = dy[at + j] - expf(y[at + j]) * sum;
}
