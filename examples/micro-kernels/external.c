/* The function that external.mlir declares. It is called by MLIR's conventions
   for C: pointers to descriptors, and _mlir_ciface_ in front of the name. */

#include <stdint.h>

typedef struct {
  float *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
} Matrix;

static float *at(const Matrix *matrix, int64_t i, int64_t j) {
  return matrix->aligned + matrix->offset + i * matrix->strides[0] +
         j * matrix->strides[1];
}

void _mlir_ciface_sgemm_3x5(const Matrix *a, const Matrix *b, Matrix *c) {
  for (int64_t m = 0; m < 3; ++m)
    for (int64_t n = 0; n < 5; ++n) {
      float sum = *at(c, m, n);
      for (int64_t k = 0; k < a->sizes[1]; ++k)
        sum += *at(a, m, k) * *at(b, k, n);
      *at(c, m, n) = sum;
    }
}
