//===- Problem.h - A chain of operators as the model sees it ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The analytical model never looks at IR. What it needs to know of a chain of
// compute-intensive operators is this: the independent loops, the tensors, and
// the operators in producer-consumer order with the affine maps by which they
// access the tensors.
//
// Two GEMMs, C = A * B and E = C * D, have five loops (b, m, l, k, n); b, m and
// l are shared, k is private to the first operator and n to the second. In two
// convolutions the second reads rows s * h + d * r of the intermediate, so its
// loops h and r decide which part of loop p, the rows of the first, is needed:
// p is *derived*. A chain of one operator is a chain too: the unfused plans are
// made of them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_MODEL_PROBLEM_H
#define CHIMERA_MODEL_PROBLEM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace chimera::model {

/// Index into ChainProblem::loops.
using LoopId = unsigned;
/// Index into ChainProblem::tensors.
using TensorId = unsigned;

/// One iteration dimension of the whole chain.
struct Loop {
  std::string name;
  /// If the loop is open, what is planned for.
  int64_t extent = 1;
  /// The schedule has to hold for any extent.
  bool isOpen = false;
  /// Kernels take all of it at once: no tile cuts it.
  bool isWhole = false;
};

/// What a tensor is to the chain.
enum class Role {
  /// Comes from outside.
  Input,
  /// What an operator outside reads: it has to end up there.
  Output,
  /// Made by one operator for later ones.
  Intermediate,
  /// What an operator keeps beside its output from one part of its reduction to
  /// the next, such as the running maximum and sum of a softmax. Nobody wants
  /// it
  /// in the end.
  State,
};

/// The role in a word.
llvm::StringRef describe(Role role);

/// One array. Every access has as many indices as `shape` has dimensions.
struct Tensor {
  std::string name;
  Role role = Role::Input;
  int64_t elementBytes = 4;
  /// Bytes of a partial sum, for what operators produce; 0: as elementBytes.
  /// The results of operators are held and, unfinished, moved in this size.
  int64_t accumulatorBytes = 0;
  /// Elements along each dimension, outermost first.
  llvm::SmallVector<int64_t, 4> shape;
  /// Distance in elements between neighbours along each dimension, as the
  /// tensor lies in memory. Empty for intermediates: their layout is ours.
  llvm::SmallVector<int64_t, 4> strides;
  /// An intermediate that is an output as well: what is produced of it is also
  /// written out.
  bool isStored = false;
  /// An input that is the same in every run: what prepares it costs nothing.
  bool isConstant = false;
  /// Columns of the panels in which another program keeps this constant; 0 for
  /// none. In other panels it would take memory again.
  int64_t panelColumns = 0;
  /// The constant is kept in these panels and nowhere else: others cannot be
  /// made.
  bool isOnlyInPanels = false;
  /// An input or output in a buffer between kernels: its rows lie apart where
  /// their lines would meet in few sets of a cache.
  bool hasRowsApart = false;
  /// An input that a pass over memory, on the same threads, writes before each
  /// run. Products hide the time in which their results are written.
  bool isMadeByPass = false;

  int64_t heldBytes() const {
    return accumulatorBytes ? accumulatorBytes : elementBytes;
  }
};

/// `factor` times the value of a loop.
struct Term {
  LoopId loop = 0;
  int64_t factor = 1;

  bool operator==(const Term &other) const {
    return loop == other.loop && factor == other.factor;
  }
};

/// The index into one dimension: the sum of the terms and the offset. Factors
/// are positive. What falls outside the tensor is padding, which takes no room
/// and is not moved.
struct Index {
  llvm::SmallVector<Term, 2> terms;
  int64_t offset = 0;

  Index() = default;
  /// The value of `loop` itself.
  Index(LoopId loop) : terms({{loop, 1}}) {}

  bool hasLoop(LoopId loop) const {
    return llvm::any_of(terms, [&](Term term) { return term.loop == loop; });
  }
  /// True if it is just the value of one loop.
  bool isLoop() const {
    return terms.size() == 1 && terms[0].factor == 1 && offset == 0;
  }
  /// Values it spans if each loop takes `sizes` values in a row; those between
  /// count.
  int64_t extent(llvm::ArrayRef<int64_t> sizes) const {
    int64_t extent = 1;
    for (const Term &term : terms)
      extent += term.factor * (sizes[term.loop] - 1);
    return extent;
  }
  bool operator==(const Index &other) const {
    return offset == other.offset && terms == other.terms;
  }
};

/// How an operator accesses a tensor. No loop occurs in two indices.
struct Access {
  TensorId tensor = 0;
  llvm::SmallVector<Index, 4> indices;

  /// An access stands for its tensor where the indices do not matter.
  operator TensorId() const { return tensor; }
  bool hasLoop(LoopId loop) const {
    return llvm::any_of(
        indices, [&](const Index &index) { return index.hasLoop(loop); });
  }
};

/// A contraction or convolution: output[...] += product of the inputs, over
/// `loops`.
struct Operator {
  std::string name;
  /// Every loop of the operator, in no particular order.
  llvm::SmallVector<LoopId, 6> loops;
  /// The factors. Any of them may be the intermediate of an earlier operator.
  llvm::SmallVector<Access, 2> inputs;
  /// Each index is a loop: operators write what they iterate over.
  Access output;
  /// Tensors that elementwise operators combine with the finished output
  /// (bias, residual); they run right after the operator's reduction is done.
  llvm::SmallVector<Access, 2> epilogue;
  /// True if elementwise operators follow, even those without other operands.
  bool hasEpilogue = false;
  /// Vector instructions per vector of output spent in the epilogue, and the
  /// exponentials beside them, which take as many as the machine says.
  int64_t epilogueCost = 0, epilogueExponentials = 0;
  /// Of these instructions, those that a route with a ReLU has as well: maxima
  /// with zero, and what narrows.
  int64_t routeInstructions = 0;
  /// Vector instructions that make a vector of factors of what lies in memory,
  /// if that are codes.
  double decodeInstructions = 0;
  /// The same where one row is multiplied as digits; 0 if codes cannot be.
  double digitInstructions = 0;
  /// Of an operator whose results are the scores of a softmax: the vector
  /// instructions that make a score of a product, if they read nothing else.
  /// Then the product can be kept and the score computed whenever it is read.
  std::optional<int64_t> scoreInstructions;
  /// Loops that the epilogue reduces over, in a way that whoever reads the
  /// result has to wait for the whole reduction (LayerNorm, and a softmax that
  /// the consumer cannot correct afterwards).
  llvm::SmallVector<LoopId, 1> completes;
  /// Tensors with the role State that the operator keeps: it rescales its
  /// output when another part of the reduction changes them.
  llvm::SmallVector<Access, 1> states;
  /// The loop whose parts rescale the output (online softmax), if there are
  /// states.
  std::optional<LoopId> rescaledBy;
  /// The loop that runs along vector lanes: it indexes `output` and one input.
  LoopId vectorLoop = 0;
  /// The loop that runs along register rows, if there is one: it indexes
  /// `output` and the other input. Equal to vectorLoop if there is none.
  LoopId rowLoop = 0;

  bool hasLoop(LoopId loop) const;
  bool isReduction(LoopId loop) const {
    return hasLoop(loop) && !output.hasLoop(loop);
  }
};

/// A mask that leaves only a band of what is indexed by two loops: iterations
/// with row + least <= column < row + most. Where both loops go around all
/// operators, tiles outside are left out; vector units also leave out those in
/// the loops of the operator that makes the scores, and of their reader.
struct Band {
  LoopId row = 0, column = 0;
  std::optional<int64_t> least, most;

  /// True if some iteration of a tile, `rows` x `columns` large, lies inside.
  bool touches(int64_t row, int64_t rows, int64_t column,
               int64_t columns) const {
    return !(most && column >= row + rows - 1 + *most) &&
           !(least && column + columns - 1 < row + *least);
  }
  bool operator==(const Band &other) const {
    return row == other.row && column == other.column && least == other.least &&
           most == other.most;
  }
};

/// The chain. `check` must succeed before any other function is called.
struct ChainProblem {
  llvm::SmallVector<Loop, 6> loops;
  llvm::SmallVector<Tensor, 6> tensors;
  /// Producers before consumers.
  llvm::SmallVector<Operator, 2> operators;
  /// Masks; what they leave out is not computed. Traffic is that of the whole,
  /// but where programs move tiles by themselves (planFragments, planRoutes).
  llvm::SmallVector<Band, 1> bands;
  /// Bytes that other kernels use between two runs of this one, if it is a part
  /// of a longer chain: caches have to keep them, too.
  int64_t otherBytes = 0;

  /// Says what is wrong with the problem, if anything: extents below one, ids
  /// out of range, an output not indexed by its operator's loops, an
  /// intermediate without producer or consumer, and so on.
  llvm::Error check() const;

  /// True if every operator is the product of two tensors, and the indices of
  /// these and of the result are single loops.
  bool consistsOfProducts() const;
  /// True if `loop` belongs to every operator and indexes every intermediate.
  /// (A loop that belongs to all but reduces into an intermediate must end
  /// before the intermediate is read, so it cannot be on the shared path.)
  bool isShared(LoopId loop) const;
  /// True if some operator has `loop` but its output is not indexed by it.
  bool isReduction(LoopId loop) const;
  /// True if some access to `tensor` has `loop` in an index.
  bool indexes(TensorId tensor, LoopId loop) const;
  /// Elements of the whole tensor.
  int64_t sizeOf(TensorId tensor) const;
  /// Multiply-adds of the whole chain.
  int64_t multiplyAdds() const;
  int64_t multiplyAdds(const Operator &op) const;
};

/// True if the two problems differ in names at most, so that a schedule of the
/// one is a schedule of the other, at the same cost.
bool areAlike(const ChainProblem &left, const ChainProblem &right);

/// `in0[m, 2 * h + r]`, where `times` stands between a factor and its loop.
std::string describe(const ChainProblem &problem, const Access &access,
                     llvm::StringRef times);

} // namespace chimera::model

#endif // CHIMERA_MODEL_PROBLEM_H
