// Tables, and ids of their rows.

// gather is y[i,:] = table[ids[i],:]. An id outside gives zeros and a complaint.
KERNEL gather(float *y, const float *table, const i64 *ids, int count, int width, int height, int *status, int instr) {
  int e = element();
  if (e >= count * width) return;
  i64 id = ids[e / width];
  bool inside = id >= 0 && id < height;
  if (!inside) complain(status, instr);
  y[e] = inside ? table[id * width + e % width] : 0.0f;
}

// sparse is y[r,:] = sum_p values[r,p] w[ids[r,p],:], in the order of p. An id below 0 counts as nothing.
KERNEL sparse(float *y, const float *values, const i64 *ids, const float *w, int rows, int places, int width, int height,
              int *status, int instr) {
  int e = element();
  if (e >= rows * width) return;
  int r = e / width, j = e % width;
  float sum = 0.0f;
  for (int p = 0; p < places; p++) {
    i64 id = ids[(i64)r * places + p];
    if (id >= height) complain(status, instr);
    else if (id >= 0) sum += values[(i64)r * places + p] * w[id * width + j];
  }
  y[e] = sum;
}

// scatter is table[ids[i],:] += values[i] y[i/places,:] in the order of i; values nil for 1 each. An id below 0 counts as nothing
// where there are values, else it is a complaint, as is one beyond the table.
//
// A block has one i. It does nothing where an earlier one has the same id; else it adds up all that have it.
enum { CROWD = 128 };

KERNEL scatter(float *table, const float *values, const i64 *ids, const float *y, int count, int places, int width, int height,
               int *status, int instr) {
  __shared__ i64 others[CROWD];
  __shared__ int earlier;
  int i = blockIdx.x, t = threadIdx.x;
  i64 id = ids[i];
  if (id < 0 || id >= height) {
    if (t == 0 && (id >= 0 || !values)) complain(status, instr);
    return;
  }
  if (t == 0) earlier = 0;
  __syncthreads();
  for (int o = t; o < i; o += CROWD)
    if (ids[o] == id) earlier = 1;
  __syncthreads();
  if (earlier) return;
  for (int from = i; from < count; from += CROWD) {
    others[t] = from + t < count ? ids[from + t] : -1;
    __syncthreads();
    for (int o = 0; o < CROWD; o++) {
      if (others[o] != id) continue;
      int at = from + o;
      float value = values ? values[at] : 1.0f;
      for (int j = t; j < width; j += CROWD) table[id * width + j] += value * y[(i64)(at / places) * width + j];
    }
    __syncthreads();
  }
}
