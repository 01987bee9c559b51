//===- Bounds.h - Bytes no schedule can avoid -------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan's volume means little without knowing how far down it could go. The
// bounds here hold for every order of the multiply-adds of the standard
// algorithm, tiled or not: that is more than all schedules. docs/model.md,
// section "Lower bounds", has the proofs; the names B1 to B4 are those used
// there.
//
// What they do not hold for: other algorithms (re-association, Strassen), data
// that skips the boundary, and warm starts (subtract twice the capacity).
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_BOUNDS_H
#define CHIMERA_MODEL_BOUNDS_H

#include "Chimera/Model/Machine.h"
#include "Chimera/Model/Problem.h"

#include "llvm/ADT/StringRef.h"

namespace chimera::model {

struct SolveOptions;

/// What a bound rests on.
enum class BoundKind {
  /// Every input is read once where it is needed, every output written once.
  Compulsory,
  /// One contraction.
  Contraction,
  /// One convolution.
  Convolution,
  /// Two contractions, the intermediate between them free.
  Chain,
  /// The same where an online softmax rescales the result.
  Attention,
  /// Two operators, a convolution among them.
  ConvolutionChain,
  /// A chain cut into groups, each with a bound of its own.
  LongChain,
  /// Two contractions of one input combined element by element, and mostly a
  /// third one behind them.
  Gate,
};

/// Which of the transfers the proof lets pass for free. The tensors of a chain
/// T0, W1, T1, W2, T2, ... fall into three classes: the weights W and, in
/// turns, the tensors T.
enum class BoundTerm {
  /// No transfers are counted but the compulsory ones.
  Compulsory,
  /// T1, T3, ...: the output of one operator, the intermediate of two.
  B1,
  /// The first arrival of everything.
  B2,
  /// T0, T2, ...: what lies along the rows of the intermediate.
  B3,
  /// The weights: what lies along its columns.
  B4,
  /// Several groups with terms of their own.
  Several,
};

struct Bound {
  int64_t bytes = 0;
  BoundKind kind = BoundKind::Compulsory;
  BoundTerm term = BoundTerm::Compulsory;
  /// The most by which the best known plan exceeded the bound for problems of
  /// this structure, over many random shapes and capacities (docs/model.md):
  /// 1.5 says that the bound may be out of reach by half of it. 0: not known.
  double looseness = 0;
};

/// The kind and the term in the words of a report.
llvm::StringRef describe(BoundKind kind);
llvm::StringRef describe(BoundTerm term);

struct BoundOptions {
  /// Whether the bound has to hold for schedules that produce parts of an
  /// intermediate more than once (recomputation, halos that are computed
  /// again). It is lower then, and little is proved for more than two
  /// operators.
  bool recomputation = false;
  /// Private memories of the given capacity that share the work; the bound is
  /// on what goes into all of them together.
  int64_t memories = 1;
};

/// What any schedule moves into and out of a fast memory of `capacityBytes`,
/// if all its data passes through it. The capacity is that of everything on the
/// near side of the boundary: the level, the levels nearer to the core and the
/// registers.
Bound findBound(const ChainProblem &problem, int64_t capacityBytes,
                const BoundOptions &options = {});

/// The bound for each of the machine's levels. A memory is an instance of the
/// level with all that is nearer to the cores it serves.
llvm::SmallVector<Bound, 3> findBounds(const ChainProblem &problem,
                                       const Machine &machine,
                                       const SolveOptions &options,
                                       bool recomputation = false);

/// The bytes of `findBound` and `findBounds`.
int64_t lowerBound(const ChainProblem &problem, int64_t capacityBytes,
                   bool recomputation = false);
llvm::SmallVector<int64_t, 3> lowerBounds(const ChainProblem &problem,
                                          const Machine &machine,
                                          const SolveOptions &options);

} // namespace chimera::model

#endif // CHIMERA_MODEL_BOUNDS_H
