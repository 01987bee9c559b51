//===- TestGemm.h - Parts of products, for tests ------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_UNITTESTS_RUNTIME_TESTGEMM_H
#define CHIMERA_UNITTESTS_RUNTIME_TESTGEMM_H

#include "chimera_npu.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace chimera_npu {
inline namespace CHIMERA_NPU_VARIANT {
namespace test {

inline int64_t tiles(int64_t extent) { return layout::ceilDiv(extent, 16); }

inline std::vector<half> randomMatrix(int64_t elements, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> numbers(-1, 1);
  std::vector<half> matrix(elements);
  for (half &element : matrix)
    element = static_cast<half>(numbers(generator));
  return matrix;
}

template <class T>
Gm<T> gm(std::vector<T> &array) {
  return {array.data(), static_cast<int64_t>(array.size())};
}

/// A tile of a row-major matrix with rows of `ld` elements to zN in L1.
inline void loadTile(L1<half> dst, Gm<half> src, int64_t rows, int64_t columns,
                     int64_t ld) {
#if CHIMERA_NPU_ARCH == 9102
  copy_gm_to_cbuf_multi_nd2nz_b16(dst, src, rows, columns, ld,
                                  tiles(rows) * 16);
#else
  for (int64_t i = 0; i < rows; ++i)
    copy_gm_to_cbuf(dst + i * 16, src + i * ld, tiles(columns), 1, 0,
                    tiles(rows) * 16 - 1);
#endif
}

/// From zN to zZ.
inline void loadLhs(L0A<half> dst, L1<half> src, int64_t m, int64_t k) {
  for (int64_t i = 0; i < tiles(m); ++i)
    load_cbuf_to_ca(dst + i * tiles(k) * 256, src, i, tiles(k), tiles(m),
                    false);
}

/// From zN to nZ.
inline void loadRhs(L0B<half> dst, L1<half> src, int64_t k, int64_t n) {
  for (int64_t i = 0; i < tiles(k); ++i)
    load_cbuf_to_cb(dst + i * tiles(n) * 256, src, i, tiles(n), tiles(k), true);
}

/// A tile in NZ, of whole column groups, to a row-major matrix.
inline void storeTile(Gm<half> dst, UB<half> src, int64_t rows, int64_t columns,
                      int64_t ld) {
  for (int64_t j = 0; j < columns; j += 16)
    copy_ubuf_to_gm(dst + j, src + j * tiles(rows) * 16, rows, 1, 0,
                    ld / 16 - 1);
}

template <class T>
std::vector<double> multiply(const std::vector<T> &a,
                             const std::vector<half> &b, int64_t m, int64_t k,
                             int64_t n) {
  std::vector<double> c(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j)
        c[i * n + j] += static_cast<double>(a[i * k + l]) *
                        static_cast<double>(b[l * n + j]);
  return c;
}

/// Up to the rounding to half of numbers of about `scale`.
template <class T>
void expectNear(const std::vector<T> &actual,
                const std::vector<double> &expected, double scale) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(static_cast<double>(actual[i]), expected[i], scale / 1024)
        << "element " << i;
}

/// Why a launch fails, or that it does not.
template <class F>
std::string failure(F launchIt) {
  try {
    launchIt();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

inline bool startsWith(const std::string &text, const std::string &start) {
  return text.rfind(start, 0) == 0;
}

} // namespace test
} // namespace CHIMERA_NPU_VARIANT
} // namespace chimera_npu

#endif // CHIMERA_UNITTESTS_RUNTIME_TESTGEMM_H
