// cuBLAS without its headers: the few functions that we call, found by name at run time.
#include <stdlib.h>

typedef struct {
  void *library, *handle;
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*set_math_mode)(void *handle, int mode);
  int (*sgemm)(void *handle, int trans_a, int trans_b, int m, int n, int k, const float *alpha, const float *a, int lda,
               const float *b, int ldb, const float *beta, float *c, int ldc);
} stoker_blas;

// stoker_blas_open says why it failed, or NULL. It must be called, as all others, in the context of the device.
const char *stoker_blas_open(const char *library, stoker_blas *blas);
int stoker_blas_close(stoker_blas *blas);
int stoker_blas_sgemm(stoker_blas *blas, int trans_a, int trans_b, int m, int n, int k, unsigned long long a, int lda,
                      unsigned long long b, int ldb, float beta, unsigned long long c, int ldc);
