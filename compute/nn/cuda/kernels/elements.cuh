// Each thread computes one element; a result may lie where an operand of the same length does.

KERNEL map(float *y, const float *x, int n, int f) {
  int i = element();
  if (i < n) y[i] = func_of(f, x[i]);
}

KERNEL slope(float *dx, const float *dy, const float *v, int n, int f) {
  int i = element();
  if (i < n) dx[i] = dy[i] * slope_of(f, v[i]);
}

KERNEL combine(float *z, const float *x, const float *y, int rows, int cols, int f, int shape, int swapped, float scale) {
  int i = element();
  if (i >= rows * cols) return;
  float a = x[i], b = y[place_of(shape, i, cols)];
  z[i] = scale * (swapped ? binary_of(f, b, a) : binary_of(f, a, b));
}

KERNEL repeat(float *y, const float *x, int rows, int cols, int shape) {
  int i = element();
  if (i < rows * cols) y[i] = x[place_of(shape, i, cols)];
}

KERNEL copy(float *y, const float *x, int n, int add) {
  int i = element();
  if (i < n) y[i] = add ? y[i] + x[i] : x[i];
}

KERNEL fill(float *y, int n, float value) {
  int i = element();
  if (i < n) y[i] = value;
}

// epilogue is what follows a product that another library made: c = f(c + bias), bias nil for none.
KERNEL epilogue(float *c, const float *bias, int rows, int cols, int f) {
  int i = element();
  if (i < rows * cols) c[i] = func_of(f, bias ? c[i] + bias[i % cols] : c[i]);
}
