// What the kernels share.
#define KERNEL extern "C" __global__ void

typedef long long i64;
typedef unsigned long long u64;

// The functions of one element, numbered as kernel.Func.
enum Func {
  IDENTITY, RELU, SIGMOID, TANH, SOFTPLUS, NEG, ABS, EXP, LOG, LOG1P, EXPM1, SQRT, SQUARE, INVERSE, SIGN, STEP
};

// The functions of two elements, numbered as kernel.Binary.
enum Binary { ADD, SUB, MUL, DIV, MAX, MIN, POW, GT, GTE, LT, LTE, EQ, NE };

// How an operand stands beside a matrix, numbered as kernel.Shape.
enum Shape { FULL, ROW, COLUMN, SCALAR };

// The status of a step: 0, or 1 + the number of an instruction that met an id outside its table.
__device__ static void complain(int *status, int instr) { *status = instr + 1; }

__device__ static int element() { return (int)(blockIdx.x * blockDim.x + threadIdx.x); }

__device__ static float sign_of(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x; }

__device__ static float sigmoid_of(float x) {
  float e = expf(-fabsf(x)); // never overflows
  return x >= 0 ? 1.0f / (1.0f + e) : e / (1.0f + e);
}

// func_of is not inlined: a product would have it sixteen times.
extern "C" __device__ __noinline__ float func_of(int f, float x) {
  switch (f) {
  case RELU: return x < 0 ? 0.0f : x;
  case SIGMOID: return sigmoid_of(x);
  case TANH: return tanhf(x);
  case SOFTPLUS: return (x > 0 ? x : x == x ? 0.0f : x) + log1pf(expf(-fabsf(x)));
  case NEG: return -x;
  case ABS: return fabsf(x);
  case EXP: return expf(x);
  case LOG: return logf(x);
  case LOG1P: return log1pf(x);
  case EXPM1: return expm1f(x);
  case SQRT: return sqrtf(x);
  case SQUARE: return x * x;
  case INVERSE: return 1.0f / x;
  case SIGN: return sign_of(x);
  case STEP: return x > 0 ? 1.0f : 0.0f;
  }
  return x;
}

// slope_of is the slope of f, by v = f(x) for RELU, SIGMOID and TANH, by v = x for SOFTPLUS and ABS.
__device__ static float slope_of(int f, float v) {
  switch (f) {
  case RELU: return v > 0 ? 1.0f : 0.0f;
  case SIGMOID: return v * (1.0f - v);
  case TANH: return 1.0f - v * v;
  case SOFTPLUS: return sigmoid_of(v);
  case ABS: return sign_of(v);
  }
  return 1.0f;
}

// max and min are NaN where one of their operands is.
__device__ static float max_of(float x, float y) { return x != x ? x : y != y ? y : x > y ? x : y; }
__device__ static float min_of(float x, float y) { return x != x ? x : y != y ? y : x < y ? x : y; }

__device__ static float binary_of(int f, float x, float y) {
  switch (f) {
  case ADD: return x + y;
  case SUB: return x - y;
  case MUL: return x * y;
  case DIV: return x / y;
  case MAX: return max_of(x, y);
  case MIN: return min_of(x, y);
  case POW: return powf(x, y);
  case GT: return x > y ? 1.0f : 0.0f;
  case GTE: return x >= y ? 1.0f : 0.0f;
  case LT: return x < y ? 1.0f : 0.0f;
  case LTE: return x <= y ? 1.0f : 0.0f;
  case EQ: return x == y ? 1.0f : 0.0f;
  case NE: return x != y ? 1.0f : 0.0f;
  }
  return x;
}

// place_of is where the operand of a shape has its number for element i of a matrix of that many columns.
__device__ static int place_of(int shape, int i, int cols) {
  switch (shape) {
  case ROW: return i % cols;
  case COLUMN: return i / cols;
  case SCALAR: return 0;
  }
  return i;
}
