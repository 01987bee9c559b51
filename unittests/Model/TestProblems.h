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
#include <vector>

namespace chimera::model {

/// Builds a problem loop by loop, tensor by tensor. Strides are dense.
class ProblemBuilder {
public:
  LoopId loop(llvm::StringRef name, int64_t extent);
  /// A tensor that is indexed by loops alone, and their extents its shape.
  TensorId tensor(llvm::StringRef name, Role role, llvm::ArrayRef<LoopId> dims,
                  int64_t elementBytes = 4);
  /// A tensor whose accesses say how it is indexed.
  TensorId array(llvm::StringRef name, Role role, llvm::ArrayRef<int64_t> shape,
                 int64_t elementBytes = 4);
  /// The access by the loops that `tensor` was made with.
  Access access(TensorId tensor) const { return plain[tensor]; }
  /// A contraction over the loops of its tensors.
  Operator &contraction(llvm::StringRef name, llvm::ArrayRef<TensorId> inputs,
                        TensorId output, LoopId rowLoop, LoopId vectorLoop);
  /// An operator over the loops of its accesses.
  Operator &operation(llvm::StringRef name, llvm::ArrayRef<Access> inputs,
                      const Access &output, LoopId rowLoop, LoopId vectorLoop);

  ChainProblem problem;

private:
  std::vector<Access> plain;
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

/// One convolution: its kind, output channels and windows.
struct ConvLayer {
  enum Kind {
    /// Every output channel sums over all input channels.
    Dense,
    /// The first channel dimension is kept, the second summed over.
    Grouped,
    /// All channels are kept.
    Depthwise
  };
  Kind kind = Dense;
  int64_t channels = 1;
  int64_t kernel = 1, stride = 1, dilation = 1, padding = 0;

  /// How many outputs there are for `extent` inputs.
  int64_t outputs(int64_t extent) const {
    return (extent + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
};

struct ConvSizes {
  int64_t batch = 1;
  /// Channels of the input; with groups, those of each.
  int64_t groups = 0, channels = 1;
  /// Rows, or rows and columns, of the input.
  llvm::SmallVector<int64_t, 2> image;
  llvm::SmallVector<ConvLayer, 3> layers;
  bool channelsLast = false;
};

/// Convolutions in a row. Layer i has the input X or T<i>, the weights W<i> and
/// the output T<i+1> or Y; its loops are the output channels c<i+1>, the rows
/// y<i+1> and columns x<i+1> of the output, those of the window r<i+1> and
/// s<i+1>. A layer with windows of one element shares the rows and columns of
/// the layer before.
ChainProblem makeConvChain(const ConvSizes &sizes);

struct AttentionSizes {
  /// Heads of keys and values, and heads of queries for each.
  int64_t heads = 1, queries = 1;
  /// Rows of the queries, of the keys, and columns of keys and of values.
  int64_t m = 1, l = 1, k = 1, n = 1;
  /// The softmax is corrected as the reduction goes on; if not, the whole row
  /// has to be there first.
  bool isOnline = true;
};

/// S[h,q,m,l] = Q[h,q,m,k] * K[h,l,k]; O[h,q,m,n] = softmax(S) * V[h,l,n]. The
/// tensors are Q, K, S, V, O and the states max and sum.
ChainProblem makeAttention(const AttentionSizes &sizes);

/// The figures of an AMD Zen 5 core pair.
Machine makeZen5();

/// A problem of any kind, of up to six operators and with extents up to about
/// `maxExtent`: contractions in a row with broadcasts, gates and residuals,
/// convolutions, attention; random element sizes, layouts and epilogues.
ChainProblem makeRandomProblem(std::mt19937 &random, int64_t maxExtent);

/// A valid schedule with `numLevels` levels and no parallel loops; sometimes
/// with recomputation, rolling buffers and homes at outer levels.
Schedule makeRandomSchedule(std::mt19937 &random, const ChainProblem &problem,
                            unsigned numLevels);

/// Says what it takes to build the case again.
std::string reproducer(const ChainProblem &problem, const Schedule &schedule);

/// Where `name` is among the loops.
LoopId loopNamed(const ChainProblem &problem, llvm::StringRef name);

/// Where `name` is among the tensors.
TensorId tensorNamed(const ChainProblem &problem, llvm::StringRef name);

/// A single level with the given order.
Schedule singleLevel(llvm::ArrayRef<TiledLoop> order);

} // namespace chimera::model

#endif // CHIMERA_UNITTESTS_MODEL_TESTPROBLEMS_H
