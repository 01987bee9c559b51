//===- MemoryPass.h - Time of work that waits for memory --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What runs outside chains, or between the kernels of a chain that is cut, goes
// over its operands once: a softmax, a norm, something elementwise. Its price
// is in the same currency as that of a chain.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_MEMORYPASS_H
#define CHIMERA_MODEL_MEMORYPASS_H

#include "Chimera/Model/Machine.h"

#include "llvm/ADT/ArrayRef.h"

namespace chimera::model {

/// One pass over operands, in bytes; nothing is read or written twice.
struct MemoryPass {
  double readBytes = 0;
  double writtenBytes = 0;
  /// Of what is written, how much lies in memory that the system has yet to
  /// provide.
  double freshBytes = 0;
  /// Cycles of vector arithmetic, of one core for all of it.
  double cycles = 0;
};

/// Seconds of `pass` on `threads` threads of `machine`, or on one of them if
/// that is faster. Operands that fit a level together are found there. A cache
/// reads what is written for the first time.
double secondsOf(const MemoryPass &pass, const Machine &machine,
                 int64_t threads);

/// How much of `buffers` (bytes of each, allocated for each call and there at
/// the same time) the system has to provide again in each call. As many as the
/// allocator keeps as one become one, the largest first
/// (chimera-join-buffers); it returns each of the others that is larger than it
/// keeps, and all that are left if together they are more than twice the
/// largest. (So does glibc: see mallopt(3), M_MMAP_THRESHOLD and
/// M_TRIM_THRESHOLD.)
double freshBytes(llvm::ArrayRef<double> buffers, const Machine &machine);

} // namespace chimera::model

#endif // CHIMERA_MODEL_MEMORYPASS_H
