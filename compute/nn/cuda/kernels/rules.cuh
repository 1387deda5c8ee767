// What an optimizer does, and what bounds gradients.

// The operations of a kernel.Formula, numbered as kernel.FormulaOp; the first six are those of Binary.
enum FormulaOp { FORMULA_SQRT = MIN + 1, FORMULA_NEG, FORMULA_ABS, FORMULA_SIGN };

__device__ static float formula_of(int op, float x, float y) {
  switch (op) {
  case ADD: return x + y;
  case SUB: return x - y;
  case MUL: return x * y;
  case DIV: return x / y;
  case MAX: return max_of(x, y);
  case MIN: return min_of(x, y);
  case FORMULA_SQRT: return sqrtf(x);
  case FORMULA_NEG: return -x;
  case FORMULA_ABS: return fabsf(x);
  case FORMULA_SIGN: return sign_of(x);
  }
  return x;
}

// update is kernel.Update: one thread a weight, which executes the formula. An instruction has 16 bits: operation, result, operands. The
// registers are w, g, three slots, six numbers, and five intermediate values.
KERNEL update(float *weights, const float *grads, float *slot0, float *slot1, float *slot2, int n, int slots, int length, u64 code0,
              u64 code1, u64 code2, u64 code3, u64 code4, u64 code5, float decay, float number0, float number1, float number2,
              float number3, float number4, float number5) {
  int i = element();
  if (i >= n) return;
  float w = weights[i];
  float r[16] = {w - decay * w, grads[i], 0, 0, 0, number0, number1, number2, number3, number4, number5};
  if (slots > 0) r[2] = slot0[i];
  if (slots > 1) r[3] = slot1[i];
  if (slots > 2) r[4] = slot2[i];
  u64 code[6] = {code0, code1, code2, code3, code4, code5};
  for (int at = 0; at < length; at++) {
    int in = (int)(code[at / 4] >> (at % 4 * 16)) & 0xffff;
    r[in >> 8 & 15] = formula_of(in >> 12, r[in >> 4 & 15], r[in & 15]);
  }
  weights[i] = r[0];
  if (slots > 0) slot0[i] = r[2];
  if (slots > 1) slot1[i] = r[3];
  if (slots > 2) slot2[i] = r[4];
}

// clip_value keeps each gradient within -bound..bound.
KERNEL clip_value(float *grads, int n, float bound) {
  int i = element();
  if (i < n) grads[i] = max_of(min_of(grads[i], bound), -bound);
}

// clip_norm scales gradients to a norm of at most bound. A norm that is not finite makes all of them NaN, as in Keras.
KERNEL clip_norm(float *grads, int n, const double *norm, float bound) {
  int i = element();
  if (i < n && !(*norm <= bound)) grads[i] *= (float)(bound / *norm + (*norm - *norm));
}
