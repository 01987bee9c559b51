// What a person writes in plain C for the cases of memory.py, to know how far
// memory lets anyone go. Compiled as written and with STREAM set: then whole
// vectors of large results are stored past the caches.

#include <math.h>
#include <stdint.h>

typedef float Vector __attribute__((vector_size(64), aligned(4)));
typedef float Aligned __attribute__((vector_size(64)));
enum { LANES = 16 };

static inline Vector load(const float *from) { return *(const Vector *)from; }

static inline void store(float *to, Vector value) {
#if STREAM
  __builtin_nontemporal_store((Aligned)value, (Aligned *)to);
#else
  *(Vector *)to = value;
#endif
}

static inline void fence(void) {
#if STREAM
  __builtin_ia32_sfence();
#endif
}

static inline Vector every(float x) { return (Vector){} + x; }

static inline Vector larger(Vector a, Vector b) {
  return __builtin_elementwise_max(a, b);
}

static float sum(Vector x) {
  float result = 0;
  for (int i = 0; i < LANES; ++i)
    result += x[i];
  return result;
}

static float largest(Vector x) {
  float result = x[0];
  for (int i = 1; i < LANES; ++i)
    result = fmaxf(result, x[i]);
  return result;
}

/// The exponential of what is not above 88, to a few units in the last place.
static inline Vector exponential(Vector x) {
  typedef int32_t Words __attribute__((vector_size(64)));
  x = larger(x, every(-87.3f));
  Vector n = __builtin_elementwise_roundeven(x * 1.44269504f);
  Vector r = x - n * 0.693145752f - n * 1.42860677e-6f;
  Vector p = every(1.0f / 720);
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  Words exponent = (__builtin_convertvector(n, Words) + 127) << 23;
  return p * (Vector)exponent;
}

/// The error function to 1.5e-7, by Abramowitz and Stegun 7.1.26.
static inline Vector error_function(Vector x) {
  Vector a = __builtin_elementwise_abs(x);
  Vector t = 1.0f / (1.0f + 0.3275911f * a);
  Vector p = every(1.061405429f);
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  Vector result = 1.0f - p * t * exponential(-a * a);
  return __builtin_elementwise_copysign(result, x);
}

void layer_norm(const float *const *in, float *const *out, const int64_t *n) {
  const float *weight = in[1], *bias = in[2];
#pragma omp parallel
  {
#pragma omp for
    for (int64_t row = 0; row < n[0]; ++row) {
      const float *x = in[0] + row * n[1];
      float *y = out[0] + row * n[1];
      Vector s[4] = {};
      for (int64_t i = 0; i < n[1]; i += 4 * LANES)
        for (int j = 0; j < 4; ++j)
          s[j] += load(x + i + j * LANES);
      Vector mean = every(sum(s[0] + s[1] + s[2] + s[3]) / n[1]);
      Vector q[4] = {};
      for (int64_t i = 0; i < n[1]; i += 4 * LANES)
        for (int j = 0; j < 4; ++j) {
          Vector d = load(x + i + j * LANES) - mean;
          q[j] += d * d;
        }
      float variance = sum(q[0] + q[1] + q[2] + q[3]) / n[1];
      Vector factor = every(1 / sqrtf(variance + 1e-5f));
      for (int64_t i = 0; i < n[1]; i += LANES)
        store(y + i, (load(x + i) - mean) * factor * load(weight + i) +
                         load(bias + i));
    }
    fence();
  }
}

void row_softmax(const float *const *in, float *const *out, const int64_t *n) {
#pragma omp parallel
  {
    float kept[n[1]];
#pragma omp for
    for (int64_t row = 0; row < n[0]; ++row) {
      const float *x = in[0] + row * n[1];
      float *y = out[0] + row * n[1];
      Vector m[4] = {load(x), load(x), load(x), load(x)};
      for (int64_t i = 0; i < n[1]; i += 4 * LANES)
        for (int j = 0; j < 4; ++j)
          m[j] = larger(m[j], load(x + i + j * LANES));
      Vector most =
          every(largest(larger(larger(m[0], m[1]), larger(m[2], m[3]))));
      Vector s[4] = {};
      for (int64_t i = 0; i < n[1]; i += 4 * LANES)
        for (int j = 0; j < 4; ++j) {
          Vector e = exponential(load(x + i + j * LANES) - most);
          *(Vector *)(kept + i + j * LANES) = e;
          s[j] += e;
        }
      Vector factor = every(1 / sum(s[0] + s[1] + s[2] + s[3]));
      for (int64_t i = 0; i < n[1]; i += LANES)
        store(y + i, load(kept + i) * factor);
    }
    fence();
  }
}

void add_rms_norm(const float *const *in, float *const *out, const int64_t *n) {
#pragma omp parallel
  {
    float kept[n[1]];
#pragma omp for
    for (int64_t row = 0; row < n[0]; ++row) {
      const float *x = in[0] + row * n[1], *y = in[1] + row * n[1];
      float *total = out[0] + row * n[1], *normed = out[1] + row * n[1];
      Vector q[4] = {};
      for (int64_t i = 0; i < n[1]; i += 4 * LANES)
        for (int j = 0; j < 4; ++j) {
          int64_t at = i + j * LANES;
          Vector s = load(x + at) + load(y + at);
          *(Vector *)(kept + at) = s;
          store(total + at, s);
          q[j] += s * s;
        }
      float mean = sum(q[0] + q[1] + q[2] + q[3]) / n[1];
      Vector factor = every(1 / sqrtf(mean + 1e-5f));
      for (int64_t i = 0; i < n[1]; i += LANES)
        store(normed + i, load(kept + i) * factor * load(in[2] + i));
    }
    fence();
  }
}

static inline Vector gelu_of(Vector x) {
  return 0.5f * x * (1.0f + error_function(x * 0.70710678f));
}

void bias_gelu(const float *const *in, float *const *out, const int64_t *n) {
#pragma omp parallel
  {
#pragma omp for
    for (int64_t row = 0; row < n[0]; ++row)
      for (int64_t i = 0; i < n[1]; i += LANES) {
        int64_t at = row * n[1] + i;
        store(out[0] + at, gelu_of(load(in[0] + at) + load(in[1] + i)));
      }
    fence();
  }
}

void gelu(const float *const *in, float *const *out, const int64_t *n) {
#pragma omp parallel
  {
#pragma omp for
    for (int64_t i = 0; i < n[0] * n[1]; i += LANES)
      store(out[0] + i, gelu_of(load(in[0] + i)));
    fence();
  }
}

/// Transposes a square in registers: pairs of rows exchange halves, quarters...
static inline void transpose_square(const float *from, int64_t from_stride,
                                    float *to, int64_t to_stride) {
  Vector v[LANES], w[LANES];
  for (int i = 0; i < LANES; ++i)
    v[i] = load(from + i * from_stride);
#define EXCHANGE(a, b, half, ...)                                              \
  for (int i = 0; i < LANES; ++i)                                              \
    if (!(i & half)) {                                                         \
      b[i] = __builtin_shufflevector(a[i], a[i + half], __VA_ARGS__);          \
      b[i + half] = HIGHER(a[i], a[i + half], __VA_ARGS__);                    \
    }
#define HIGHER(x, y, ...) SHIFTED(x, y, __VA_ARGS__)
#define SHIFTED(x, y, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)          \
  __builtin_shufflevector(x, y, a + S, b + S, c + S, d + S, e + S, f + S,      \
                          g + S, h + S, i + S, j + S, k + S, l + S, m + S,     \
                          n + S, o + S, p + S)
#define S 8
  EXCHANGE(v, w, 8, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#undef S
#define S 4
  EXCHANGE(w, v, 4, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27)
#undef S
#define S 2
  EXCHANGE(v, w, 2, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#undef S
#define S 1
  EXCHANGE(w, v, 1, 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30)
#undef S
  for (int i = 0; i < LANES; ++i)
    store(to + i * to_stride, v[i]);
}

/// In tiles of 64 x 64, whose lines stay in the innermost cache.
void transpose(const float *const *in, float *const *out, const int64_t *n) {
  enum { TILE = 64 };
#pragma omp parallel
  {
#pragma omp for collapse(2)
    for (int64_t column = 0; column < n[1]; column += TILE)
      for (int64_t row = 0; row < n[0]; row += TILE)
        for (int64_t i = column; i < column + TILE; i += LANES)
          for (int64_t j = row; j < row + TILE; j += LANES)
            transpose_square(in[0] + j * n[1] + i, n[1], out[0] + i * n[0] + j,
                             n[0]);
    fence();
  }
}

/// In panels of columns that are read three times close to the core.
void column_softmax(const float *const *in, float *const *out,
                    const int64_t *n) {
  enum { WIDTH = 4 };
#pragma omp parallel
  {
#pragma omp for
    for (int64_t column = 0; column < n[1]; column += WIDTH * LANES) {
      const float *x = in[0] + column;
      float *y = out[0] + column;
      Vector most[WIDTH], s[WIDTH] = {};
      for (int j = 0; j < WIDTH; ++j)
        most[j] = load(x + j * LANES);
      for (int64_t row = 1; row < n[0]; ++row)
        for (int j = 0; j < WIDTH; ++j)
          most[j] = larger(most[j], load(x + row * n[1] + j * LANES));
      for (int64_t row = 0; row < n[0]; ++row)
        for (int j = 0; j < WIDTH; ++j)
          s[j] += exponential(load(x + row * n[1] + j * LANES) - most[j]);
      for (int j = 0; j < WIDTH; ++j)
        s[j] = 1.0f / s[j];
      for (int64_t row = 0; row < n[0]; ++row)
        for (int j = 0; j < WIDTH; ++j) {
          int64_t at = row * n[1] + j * LANES;
          store(y + at, exponential(load(x + at) - most[j]) * s[j]);
        }
    }
    fence();
  }
}

void channel_shuffle(const float *const *in, float *const *out,
                     const int64_t *n) {
  int64_t image = n[2] * n[3], channels = n[1];
#pragma omp parallel
  {
#pragma omp for collapse(2)
    for (int64_t i = 0; i < n[0]; ++i)
      for (int64_t c = 0; c < 2 * channels; ++c) {
        const float *from = in[c % 2] + (i * channels + c / 2) * image;
        float *to = out[c / channels] + (i * channels + c % channels) * image;
        for (int64_t k = 0; k < image; k += LANES)
          store(to + k, load(from + k));
      }
    fence();
  }
}

void rotary(const float *const *in, float *const *out, const int64_t *n) {
  int64_t depth = n[3], half = depth / 2;
#pragma omp parallel
  {
#pragma omp for
    for (int64_t row = 0; row < n[0] * n[1] * n[2]; ++row) {
      const float *x = in[0] + row * depth;
      const float *cosine = in[1] + row % n[2] * depth;
      const float *sine = in[2] + row % n[2] * depth;
      float *y = out[0] + row * depth;
      for (int64_t i = 0; i < half; i += LANES) {
        Vector a = load(x + i), b = load(x + half + i);
        store(y + i, a * load(cosine + i) - b * load(sine + i));
        store(y + half + i,
              b * load(cosine + half + i) + a * load(sine + half + i));
      }
    }
    fence();
  }
}

void two_reductions(const float *const *in, float *const *out,
                    const int64_t *n) {
  float most = 0, squares = 0;
#pragma omp parallel for reduction(max : most) reduction(+ : squares)
  for (int64_t first = 0; first < n[0]; first += 1024) {
    Vector m[4] = {}, q[4] = {};
    for (int64_t i = first; i < first + 1024; i += 4 * LANES)
      for (int j = 0; j < 4; ++j) {
        Vector x = load(in[0] + i + j * LANES);
        m[j] = larger(m[j], __builtin_elementwise_abs(x));
        q[j] += x * x;
      }
    most = fmaxf(most, largest(larger(larger(m[0], m[1]), larger(m[2], m[3]))));
    squares += sum(q[0] + q[1] + q[2] + q[3]);
  }
  *out[0] = most;
  *out[1] = squares;
}

/// Eight rows at once, sums in the innermost cache meanwhile.
void column_sums(const float *const *in, float *const *out, const int64_t *n) {
  enum { ROWS = 8, STRIP = 512 };
#pragma omp parallel for
  for (int64_t strip = 0; strip < n[1]; strip += STRIP) {
    for (int64_t i = strip; i < strip + STRIP; ++i)
      out[0][i] = 0;
    for (int64_t row = 0; row < n[0]; row += ROWS)
      for (int64_t i = strip; i < strip + STRIP; i += LANES) {
        Vector s = load(out[0] + i);
        for (int64_t r = row; r < row + ROWS; ++r)
          s += load(in[0] + r * n[1] + i);
        *(Vector *)(out[0] + i) = s;
      }
  }
}

void norm_residual_relu(const float *const *in, float *const *out,
                        const int64_t *n) {
#pragma omp parallel
  {
#pragma omp for
    for (int64_t channel = 0; channel < n[0]; ++channel) {
      Vector scale = every(in[2][channel]), shift = every(in[3][channel]);
      for (int64_t i = 0; i < n[1]; i += LANES) {
        int64_t at = channel * n[1] + i;
        Vector y = load(in[0] + at) * scale + shift + load(in[1] + at);
        store(out[0] + at, larger(y, every(0)));
      }
    }
    fence();
  }
}
