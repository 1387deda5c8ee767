// What an optimizer does, numbered as kernel.RuleOp, and what bounds gradients.
enum Rule { SGD, MOMENTUM, ADAM, ADAGRAD, RMSPROP, FTRL };
enum { NESTEROV = 1, CENTERED = 2, WITH_MOMENTUM = 4 };

// update is kernel.Update: one thread a weight. newer1, newer2 and newer are 1 - Beta1, 1 - Beta2 and 1 - Rho.
KERNEL update(float *weights, const float *grads, float *slot0, float *slot1, float *slot2, int n, int op, int flags, float rate,
              float epsilon, float decay, float mu, float rho, float newer1, float newer2, float newer, float l1, float twice_l2) {
  int i = element();
  if (i >= n) return;
  float w = weights[i], g = grads[i];
  if (decay != 0.0f) w -= decay * w;
  switch (op) {
  case SGD: w -= rate * g; break;
  case MOMENTUM: {
    float m = mu * slot0[i] - rate * g;
    slot0[i] = m;
    w += flags & NESTEROV ? mu * m - rate * g : m;
    break;
  }
  case ADAM: {
    float m = slot0[i], v = slot1[i];
    m += (g - m) * newer1;
    v += (g * g - v) * newer2;
    slot0[i] = m, slot1[i] = v;
    w -= rate * m / (sqrtf(v) + epsilon);
    break;
  }
  case ADAGRAD: {
    float a = slot0[i] + g * g;
    slot0[i] = a;
    w -= rate * g / sqrtf(a + epsilon);
    break;
  }
  case RMSPROP: {
    float v = rho * slot0[i] + newer * (g * g), d = v;
    slot0[i] = v;
    if (flags & CENTERED) {
      float a = rho * slot2[i] + newer * g;
      slot2[i] = a;
      d -= a * a;
    }
    float change = rate * g / sqrtf(d + epsilon);
    if (flags & WITH_MOMENTUM) {
      change += mu * slot1[i];
      slot1[i] = change;
    }
    w -= change;
    break;
  }
  case FTRL: {
    float before = sqrtf(slot0[i]), a = slot0[i] + g * g, now = sqrtf(a);
    float z = slot1[i] + (g - (now - before) / rate * w);
    slot0[i] = a, slot1[i] = z;
    w = (max_of(min_of(z, l1), -l1) - z) / (now / rate + twice_l2);
    break;
  }
  }
  weights[i] = w;
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
