//go:build stoker_cuda

#include "blas.h"
#include <dlfcn.h>
#include <stdio.h>

static char reason[512];

static const char *fail(const char *library, const char *what) {
  snprintf(reason, sizeof reason, "%s: %s", library, what);
  return reason;
}

const char *stoker_blas_open(const char *library, stoker_blas *blas) {
  blas->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!blas->library) return dlerror();
  blas->create = dlsym(blas->library, "cublasCreate_v2");
  blas->destroy = dlsym(blas->library, "cublasDestroy_v2");
  blas->set_math_mode = dlsym(blas->library, "cublasSetMathMode");
  blas->sgemm = dlsym(blas->library, "cublasSgemm_v2");
  if (!blas->create || !blas->destroy || !blas->set_math_mode || !blas->sgemm) return fail(library, "it lacks a function");
  if (blas->create(&blas->handle)) return fail(library, "cublasCreate does not succeed");
  // CUBLAS_DEFAULT_MATH: float32 products are of float32 numbers, not rounded to TF32.
  if (blas->set_math_mode(blas->handle, 0)) return fail(library, "cublasSetMathMode does not succeed");
  return NULL;
}

int stoker_blas_close(stoker_blas *blas) { return blas->destroy(blas->handle); }

int stoker_blas_sgemm(stoker_blas *blas, int trans_a, int trans_b, int m, int n, int k, unsigned long long a, int lda,
                      unsigned long long b, int ldb, float beta, unsigned long long c, int ldc) {
  const float one = 1;
  // CUBLAS_OP_N is 0, CUBLAS_OP_T is 1.
  return blas->sgemm(blas->handle, trans_a, trans_b, m, n, k, &one, (const float *)a, lda, (const float *)b, ldb, &beta, (float *)c, ldc);
}
