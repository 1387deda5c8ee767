// The kernels of ../kernels, compiled for the CPU: what a test asks on standard input is done on memory that it shares. Threads of a
// block are fibers, which take turns at __syncthreads; the order of their turns changes with every launch, so that a result which
// depends on it differs. With AddressSanitizer, memory that was not allocated is out of bounds.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sanitizer/asan_interface.h>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>
#include <utility>
#include <vector>

struct Dim {
  unsigned x, y, z;
};
static Dim blockIdx, threadIdx, blockDim, gridDim;

static void barrier();
#define __global__
#define __device__
#define __noinline__
#define __shared__ static
#define __syncthreads barrier

#include "../kernels/all.cu"

// Fibers.

struct Fiber {
  ucontext_t context;
  Dim at;
  bool ended, waits;
  std::vector<char> stack;
};
static std::vector<Fiber> fibers(1024);
static Fiber *running;
static ucontext_t scheduler;
static void (*body)(const uint64_t *);
static uint64_t args[32];

static void barrier() {
  running->waits = true;
  swapcontext(&running->context, &scheduler);
  threadIdx = running->at;
}

static void run_fiber() {
  body(args);
  running->ended = true;
  swapcontext(&running->context, &scheduler);
}

static void turn(Fiber &f) {
  running = &f;
  threadIdx = f.at;
  f.waits = false;
  swapcontext(&scheduler, &f.context);
}

static void start(Fiber &f, Dim at) {
  f.stack.resize(64 << 10);
  getcontext(&f.context);
  f.context.uc_stack.ss_sp = f.stack.data();
  f.context.uc_stack.ss_size = f.stack.size();
  f.context.uc_link = nullptr;
  makecontext(&f.context, run_fiber, 0);
  f.at = at, f.ended = f.waits = false;
}

// block runs one block; false where some threads wait at a barrier that others never reach.
static bool block(bool backwards) {
  int n = blockDim.x * blockDim.y;
  for (int i = 0; i < n; i++) start(fibers[i], Dim{i % blockDim.x, i / blockDim.x, 0});
  for (;;) {
    int waiting = 0, ended = 0;
    for (int i = 0; i < n; i++) {
      Fiber &f = fibers[backwards ? n - 1 - i : i];
      turn(f);
      waiting += f.waits, ended += f.ended;
    }
    if (ended == n) return true;
    if (waiting != n) return false;
  }
}

static unsigned launches;

static bool launch() {
  bool backwards = launches++ % 2;
  unsigned n = gridDim.x * gridDim.y;
  for (unsigned i = 0; i < n; i++) {
    unsigned b = backwards ? n - 1 - i : i;
    blockIdx = Dim{b % gridDim.x, b / gridDim.x, 0};
    if (!block(backwards)) return false;
  }
  return true;
}

// Kernels by name, with their parameters' kinds as table.go writes them.

template <class T> static char kind() {
  if (std::is_pointer<T>::value) return 'p';
  if (std::is_same<T, int>::value) return 'i';
  if (std::is_same<T, float>::value) return 'f';
  if (std::is_same<T, u64>::value) return 'l';
  return '?';
}
template <class T> static T value(uint64_t bits) {
  T v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
template <auto F, class... P, size_t... I> static void call(void (*)(P...), const uint64_t *a, std::index_sequence<I...>) {
  F(value<P>(a[I])...);
}
template <auto F, class... P> static void call(void (*f)(P...), const uint64_t *a) {
  call<F>(f, a, std::index_sequence_for<P...>{});
}
template <auto F> static void invoke(const uint64_t *a) { call<F>(F, a); }
template <class... P> static std::string kinds(void (*)(P...)) { return {kind<P>()...}; }

struct Known {
  const char *name;
  std::string params;
  void (*run)(const uint64_t *);
};
#define K(name) Known{#name, kinds(name), invoke<name>}
static std::vector<Known> known = {
    K(map), K(slope), K(combine), K(repeat), K(copy), K(fill), K(epilogue), K(gemm), K(sum_columns), K(max_columns), K(softmax),
    K(log_softmax), K(softmax_slope), K(log_softmax_slope), K(sum_parts), K(sum_finish), K(norm_finish), K(sum_rows), K(finish),
    K(gather), K(sparse), K(scatter), K(place), K(pad), K(transpose), K(dropout), K(update), K(clip_value), K(clip_norm)};

static Known *find(const char *name) {
  for (Known &k : known)
    if (!strcmp(k.name, name)) return &k;
  return nullptr;
}

static void answer(const std::string &text) {
  printf("%s\n", text.c_str());
  fflush(stdout);
}

// emulator FILE ADDRESS BYTES: the memory, and where it must lie.
int main(int argc, char **argv) {
  size_t address = argc == 4 ? strtoull(argv[2], nullptr, 0) : 0, bytes = argc == 4 ? strtoull(argv[3], nullptr, 0) : 0;
  int file = argc == 4 ? open(argv[1], O_RDWR) : -1;
  void *memory = mmap((void *)address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
  if (memory != (void *)address) return perror("emulator: memory"), 1;
  ASAN_POISON_MEMORY_REGION(memory, bytes);
  char word[64];
  while (scanf("%63s", word) == 1) {
    std::string what = word;
    if (what == "alloc" || what == "free") {
      size_t at, n;
      if (scanf("%zu %zu", &at, &n) != 2) return 2;
      if (what == "alloc") ASAN_UNPOISON_MEMORY_REGION((void *)at, n);
      else ASAN_POISON_MEMORY_REGION((void *)at, n);
      answer("ok");
      continue;
    }
    char name[64];
    if (scanf("%63s", name) != 1) return 2;
    Known *k = find(name);
    if (!k) {
      answer("no such kernel");
      continue;
    }
    if (what == "params") {
      answer(k->params);
      continue;
    }
    int n;
    if (scanf("%u %u %u %u %d", &gridDim.x, &gridDim.y, &blockDim.x, &blockDim.y, &n) != 5) return 2;
    for (int i = 0; i < n; i++)
      if (scanf("%zu", &args[i]) != 1) return 2;
    body = k->run;
    answer(launch() ? "ok" : "some threads wait at a barrier that others never reach");
  }
}
