//===- TestProblems.h - Chains and machines for the tests -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chains that several tests need, built in one place, and a printer that
// turns a failing case into something that can be typed in again.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_UNITTESTS_MODEL_TESTPROBLEMS_H
#define CHIMERA_UNITTESTS_MODEL_TESTPROBLEMS_H

#include "Chimera/Model/Algorithms.h"

#include <random>

namespace chimera::model {

/// Builds a problem loop by loop, tensor by tensor. Strides are dense.
class ProblemBuilder {
public:
  LoopId loop(llvm::StringRef name, int64_t extent);
  TensorId tensor(llvm::StringRef name, Role role, llvm::ArrayRef<LoopId> dims,
                  int64_t elementBytes = 4);
  /// A contraction over the loops of its tensors.
  Operator &contraction(llvm::StringRef name, llvm::ArrayRef<TensorId> inputs,
                        TensorId output, LoopId rowLoop, LoopId vectorLoop);

  ChainProblem problem;
};

struct ChainSizes {
  int64_t b = 1, m = 1, n = 1, k = 1, l = 1;
};

/// C[b,m,n] = A[b,m,k] * B[b,k,n].
ChainProblem makeGemm(int64_t b, int64_t m, int64_t n, int64_t k);

/// C[b,m,l] = A[b,m,k] * B[b,k,l]; E[b,m,n] = C * D[b,l,n]. The loops are
/// b, m, l, k, n and the tensors A, B, C, D, E, in this order.
ChainProblem makeChain(const ChainSizes &sizes);

/// The same for weights B and D without batch.
ChainProblem makeMlp(int64_t m, int64_t n, int64_t k, int64_t l);

/// G = A * V, H = (A * W) combined with G, E = H * D: a gated MLP.
ChainProblem makeGate(int64_t m, int64_t n, int64_t k, int64_t l);

/// Three contractions in a row, over m, l, k, n, p.
ChainProblem makeTriple(int64_t m, int64_t l, int64_t k, int64_t n, int64_t p);

/// The figures of an AMD Zen 5 core pair.
Machine makeZen5();

/// A problem of any of the shapes above with extents up to `maxExtent`, random
/// element sizes and sometimes epilogues.
ChainProblem makeRandomProblem(std::mt19937 &random, int64_t maxExtent);

/// A valid schedule with `numLevels` levels and no parallel loops.
Schedule makeRandomSchedule(std::mt19937 &random, const ChainProblem &problem,
                            unsigned numLevels);

/// Says what it takes to build the case again.
std::string reproducer(const ChainProblem &problem, const Schedule &schedule);

/// Where `name` is among the loops.
LoopId loopNamed(const ChainProblem &problem, llvm::StringRef name);

/// A single level with the given order.
Schedule singleLevel(llvm::ArrayRef<TiledLoop> order);

} // namespace chimera::model

#endif // CHIMERA_UNITTESTS_MODEL_TESTPROBLEMS_H
