// gemm is c[m,n] = f(op(a) op(b) + bias), or c += op(a) op(b) where add. op(a) is [m,k], a transposed where ta; op(b) is [k,n].
//
// A block of 16 x 16 threads makes a tile of 64 x 64, each thread 4 x 4 of it: rows and columns 16 apart, so that neighbouring
// threads write neighbouring numbers. Slices of 16 along k lie in shared memory; the sum goes along k in its order.
enum { TILE = 64, SLICE = 16, SIDE = 16, EACH = TILE / SIDE };

KERNEL gemm(float *c, const float *a, const float *b, const float *bias, int m, int n, int k, int ta, int tb, int add, int f) {
  __shared__ float as[SLICE][TILE + 1], bs[SLICE][TILE + 1];
  int tx = threadIdx.x, ty = threadIdx.y, t = ty * SIDE + tx;
  int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
  float sums[EACH][EACH];
  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++) sums[i][j] = 0.0f;
  for (int k0 = 0; k0 < k; k0 += SLICE) {
    for (int e = t; e < TILE * SLICE; e += SIDE * SIDE) {
      // The faster index is the one along which the operand lies in memory.
      int ar = ta ? e % TILE : e / SLICE, ak = ta ? e / TILE : e % SLICE;
      int bc = tb ? e / SLICE : e % TILE, bk = tb ? e % SLICE : e / TILE;
      int r = row0 + ar, q = k0 + ak, s = k0 + bk, w = col0 + bc;
      as[ak][ar] = r < m && q < k ? (ta ? a[(i64)q * m + r] : a[(i64)r * k + q]) : 0.0f;
      bs[bk][bc] = w < n && s < k ? (tb ? b[(i64)w * k + s] : b[(i64)s * n + w]) : 0.0f;
    }
    __syncthreads();
    int depth = k - k0 < SLICE ? k - k0 : SLICE;
    for (int q = 0; q < depth; q++)
      for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) sums[i][j] += as[q][ty + i * SIDE] * bs[q][tx + j * SIDE];
    __syncthreads();
  }
  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++) {
      int r = row0 + ty + i * SIDE, w = col0 + tx + j * SIDE;
      if (r >= m || w >= n) continue;
      i64 at = (i64)r * n + w;
      float sum = sums[i][j];
      c[at] = add ? c[at] + sum : func_of(f, bias ? sum + bias[w] : sum);
    }
}
