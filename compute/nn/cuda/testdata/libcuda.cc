// A libcuda.so.1 whose only GPU is this computer: what compute/nn/cuda/driver calls of NVIDIA's driver, with the kernels of ../kernels
// compiled for the CPU. It is for the test of that room where there is no GPU.
#define main emulator_main
#include "emulator.cc"
#undef main
#include <cstdlib>

#define API extern "C" int // 0 is success, 1 an invalid value, 201 no current context
static thread_local void *current;
static int context, module;

API cuInit(unsigned) { return 0; }
API cuDriverGetVersion(int *version) { return *version = 13000, 0; }
API cuDeviceGetCount(int *count) { return *count = 1, 0; }
API cuDeviceGet(int *device, int) { return *device = 0, 0; }
API cuDeviceGetName(char *name, int length, int) { return snprintf(name, length, "emulated GPU"), 0; }
API cuDevicePrimaryCtxRetain(void **c, int) { return *c = &context, 0; }
API cuDevicePrimaryCtxRelease_v2(int) { return 0; }
API cuCtxSetCurrent(void *c) { return current = c, 0; }
API cuCtxSynchronize() { return current ? 0 : 201; }
API cuMemGetInfo_v2(size_t *free, size_t *total) { return *free = *total = 1 << 30, current ? 0 : 201; }

API cuMemAlloc_v2(uint64_t *p, size_t n) {
  if (!current) return 201;
  *p = (uint64_t)aligned_alloc(256, (n + 255) / 256 * 256);
  memset((void *)*p, 0xff, n); // NaN
  return 0;
}
API cuMemFree_v2(uint64_t p) { return current ? (free((void *)p), 0) : 201; }
API cuMemAllocHost_v2(void **p, size_t n) { return current ? (*p = malloc(n), 0) : 201; }
API cuMemFreeHost(void *p) { return current ? (free(p), 0) : 201; }
API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *) { return current ? (memcpy((void *)to, from, n), 0) : 201; }
API cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n) { return current ? (memcpy(to, (void *)from, n), 0) : 201; }

API cuModuleLoadData(void **m, const void *image) { return *m = &module, !strstr((const char *)image, ".entry map("); }
API cuModuleUnload(void *) { return current ? 0 : 201; }
API cuModuleGetFunction(void **f, void *, const char *name) { return *f = find(name), !*f; }

API cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned, void *, void **params,
                   void **) {
  if (!current) return 201;
  if (gz != 1 || bz != 1 || !gx || !gy || !bx || !by) return 1;
  Known *k = (Known *)f;
  for (size_t i = 0; i < k->params.size(); i++) {
    args[i] = 0;
    memcpy(&args[i], params[i], strchr("pl", k->params[i]) ? 8 : 4);
  }
  gridDim = Dim{gx, gy, 1}, blockDim = Dim{bx, by, 1}, body = k->run;
  return !launch();
}
