// A libcublas.so.13 for the emulated GPU of libcuda.cc: matrices by columns, as cuBLAS knows them, and no tensor cores.
#define API extern "C" int // 0 is success, 7 an invalid value
API cublasCreate_v2(void **handle) { return *handle = (void *)1, 0; }
API cublasDestroy_v2(void *) { return 0; }
API cublasSetMathMode(void *, int mode) { return mode == 0 ? 0 : 7; }

API cublasSgemm_v2(void *, int trans_a, int trans_b, int m, int n, int k, const float *alpha, const float *a, int lda, const float *b,
                   int ldb, const float *beta, float *c, int ldc) {
  if (lda < (trans_a ? k : m) || ldb < (trans_b ? n : k) || ldc < m) return 7;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++) {
      double sum = 0;
      for (int l = 0; l < k; l++) sum += (double)a[trans_a ? i * lda + l : l * lda + i] * b[trans_b ? l * ldb + j : j * ldb + l];
      float *to = &c[j * ldc + i];
      *to = *alpha * (float)sum + (*beta != 0 ? *beta * *to : 0.0f);
    }
  return 0;
}
