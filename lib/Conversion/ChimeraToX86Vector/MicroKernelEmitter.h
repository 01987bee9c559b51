//===- MicroKernelEmitter.h - What all vector micro kernels share -*- C++ -*-=//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A micro kernel is emitted for known extents: every loop bound is a constant
// and only the last vector of a row can be partial. This class holds the
// operands of one kernel with such extents, and generates accesses and loops.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_MICROKERNELEMITTER_H
#define CHIMERA_LIB_CONVERSION_MICROKERNELEMITTER_H

#include "Chimera/IR/Chimera.h"

#include "mlir/IR/Builders.h"

namespace chimera {

/// The extents a kernel is specialised for, one per dimension.
using Extents = llvm::SmallVector<int64_t>;

/// What the code depends on besides the kernel: `#chimera.outer_product` in
/// numbers.
struct VectorFigures {
  explicit VectorFigures(OuterProductAttr implementation);

  /// What dot products multiply in place of numbers of type `factor`: these, or
  /// bytes that are widened to 16 bits; null if there are none.
  mlir::Type findDots(mlir::Type factor) const;
  /// True if bytes become numbers of 16 bits before they are multiplied.
  bool widensBytes() const;

  /// Elements of a vector of f32.
  int64_t lanes = 0;
  /// True if vectors of 512 bits have the instructions of AVX-512.
  bool hasAvx512 = true;
  VectorTuning tuning;
  /// What dot products multiply.
  llvm::SmallVector<mlir::Type, 2> dots;
  /// What one instruction rounds numbers to, with denormal ones as zeros.
  llvm::SmallVector<mlir::Type, 1> narrowed;
  /// True if whole vectors are to be stored past the caches: their places in
  /// memory are known to allow it.
  bool streams = false;
};

/// How many lanes of a vector count. It may be known only when the code runs,
/// and may then be more than there are, or fewer than one.
struct LaneCount {
  LaneCount(int64_t known) : known(known) {}
  LaneCount(mlir::Value value) : value(value) {}

  /// True if all of `lanes` lanes count.
  bool covers(int64_t lanes) const { return !value && known >= lanes; }

  int64_t known = 0;
  mlir::Value value;
};

class MicroKernelEmitter {
public:
  MicroKernelEmitter(mlir::OpBuilder &builder, MicroKernelOp op,
                     const VectorFigures &figures,
                     llvm::ArrayRef<int64_t> extents);

protected:
  /// Lets vectors run along the last dimension of the last output.
  void useLastDim();
  /// True if operand `operand` has neighbours along `dim` next to each other in
  /// memory.
  bool isContiguous(unsigned operand, unsigned dim) const;
  bool isContiguous(unsigned operand) const {
    return isContiguous(operand, vectorDim);
  }
  bool indexes(unsigned operand, unsigned dim) const {
    return maps[operand].isFunctionOfDim(dim);
  }
  /// The most iterations of dimension `dim`, whose extent may be known only
  /// when the code runs.
  int64_t mostOf(unsigned dim);
  /// True if the extent of dimension `dim` is known only when the code runs.
  bool isOpen(unsigned dim) const {
    return mlir::ShapedType::isDynamic(extents[dim]);
  }
  /// The extent of dimension `dim` as a value.
  mlir::Value extentOf(unsigned dim);
  unsigned outputIndex() const { return maps.size() - 1; }

  /// The indices of operand `operand` at `point`, one index per dimension of
  /// the iteration space.
  llvm::SmallVector<mlir::Value> indices(unsigned operand,
                                         llvm::ArrayRef<mlir::Value> point);
  /// A vector of operand `operand` starting at `point`; only the first `count`
  /// lanes touch memory.
  mlir::Value loadVector(unsigned operand, llvm::ArrayRef<mlir::Value> point,
                         LaneCount count) {
    return loadVector(operand, point, count, lanes);
  }
  /// The same for a vector of `width` elements.
  mlir::Value loadVector(unsigned operand, llvm::ArrayRef<mlir::Value> point,
                         LaneCount count, int64_t width);
  /// The element of operand `operand` at `point`.
  mlir::Value loadScalar(unsigned operand, llvm::ArrayRef<mlir::Value> point);
  /// `value` in every lane; vectors are left alone.
  mlir::Value broadcast(mlir::Value value);
  /// The same in every lane, as a factor: in the type of sums.
  mlir::Value loadBroadcast(unsigned operand,
                            llvm::ArrayRef<mlir::Value> point);
  /// The bits of `value`, a vector, as numbers of `elementType`.
  mlir::Value asBitsOf(mlir::Value value, mlir::Type elementType);
  /// `vector` in the type of sums, if it is narrower.
  mlir::Value widen(mlir::Value vector);
  /// Asks for the element of operand `operand` at `point`, which may be
  /// outside.
  void prefetch(unsigned operand, llvm::ArrayRef<mlir::Value> point,
                bool isWrite = false);
  /// Asks for it if it comes from memory and is due some vectors later.
  void prefetchFar(unsigned operand, llvm::ArrayRef<mlir::Value> point);
  void storeVector(unsigned operand, mlir::Value vector,
                   llvm::ArrayRef<mlir::Value> point, LaneCount count);
  /// The first `count` lanes of a vector of `width` elements.
  mlir::Value mask(LaneCount count, int64_t width);
  /// `count` without the lanes of the first `vectors` vectors.
  LaneCount after(LaneCount count, int64_t vectors);
  /// The elements of `count` lanes that have `elements` each.
  LaneCount times(LaneCount count, int64_t elements);

  mlir::Value constant(int64_t value);
  mlir::Value zero(mlir::Type type);
  mlir::Value add(mlir::Value index, int64_t offset);
  mlir::VectorType vectorType(mlir::Type elementType) const;
  mlir::Location loc() { return op.getLoc(); }

  using LoopBody = llvm::function_ref<void(mlir::Value)>;
  using CarryingLoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value, mlir::ValueRange)>;
  /// `for iv = lower to upper step step`, left out if there is one trip only.
  void buildLoop(int64_t lower, int64_t upper, int64_t step, LoopBody body);
  /// The same with values carried from one iteration to the next.
  llvm::SmallVector<mlir::Value> buildLoop(int64_t lower, int64_t upper,
                                           int64_t step,
                                           mlir::ValueRange carried,
                                           CarryingLoopBody body);
  /// The same over dimension `dim`, whose extent may be known only when the
  /// code runs, in steps of one.
  llvm::SmallVector<mlir::Value>
  buildLoopOver(unsigned dim, mlir::ValueRange carried, CarryingLoopBody body);
  /// The same for bounds that are values, with a loop in any case.
  llvm::SmallVector<mlir::Value> buildOpenLoop(mlir::Value lower,
                                               mlir::Value upper, int64_t step,
                                               mlir::ValueRange carried,
                                               CarryingLoopBody body);
  void buildOpenLoop(mlir::Value lower, mlir::Value upper, int64_t step,
                     LoopBody body);
  /// The largest multiple of `step` steps from `lower` that is not above
  /// `upper`.
  mlir::Value endOfSteps(mlir::Value lower, mlir::Value upper, int64_t step);
  /// Loops with the steps `steps`, one after the other, that cover `lower` to
  /// `upper`; the last step is one. `body` is told the step.
  void buildLadder(mlir::Value lower, mlir::Value upper,
                   llvm::ArrayRef<int64_t> steps,
                   llvm::function_ref<void(mlir::Value, int64_t)> body);
  /// `most`, and the powers of two below it.
  static llvm::SmallVector<int64_t> getLadder(int64_t most);
  /// Code that runs if `condition` holds.
  void buildIf(mlir::Value condition, llvm::function_ref<void()> body);
  /// Nested loops of step one over `dims`, which are set in `point`.
  void buildNest(llvm::ArrayRef<unsigned> dims,
                 llvm::SmallVectorImpl<mlir::Value> &point,
                 llvm::function_ref<void()> body);

  /// Calls `emit` for each of `count` instances of the same code, and takes
  /// turns among their operations, so that their latencies overlap even where a
  /// processor does not look far ahead. Instances must not depend on each
  /// other.
  void buildInterleaved(int64_t count, llvm::function_ref<void(int64_t)> emit);

  /// Vectors that have the bytes of one of the longest, of 16 words, for which
  /// the figures are: what waits for memory counts bytes.
  int64_t vectorsOfLongest() const { return std::max<int64_t>(1, 16 / lanes); }
  /// Vectors of a stream that are asked for ahead.
  int64_t streamAhead() const {
    return figures.tuning.streamAhead * vectorsOfLongest();
  }

  mlir::OpBuilder &builder;
  MicroKernelOp op;
  const VectorFigures &figures;
  int64_t lanes;
  Extents extents;
  llvm::SmallVector<mlir::AffineMap> maps;
  /// The dimension along which vectors run.
  unsigned vectorDim = 0;

private:
  /// Operand `operand` as vectors are to see it: memory has a byte for a bit.
  mlir::Value getMemory(unsigned operand);
};

/// True if `op` multiplies integers and adds them up as such.
bool isIntegerProduct(MicroKernelOp op);

/// True if `op` multiplies and adds up in f32, or integers of which one has a
/// sign. Factors of f32 may be narrower, and one of them quantized; they are
/// widened when they are loaded, since the vectors of an FMA have one type.
bool isCoveredProduct(MicroKernelOp op);

/// True if `op` multiplies numbers of which there are dot products.
bool mayBeDotProduct(MicroKernelOp op, const VectorFigures &figures);

/// The dimension of the numbers of a word, if one factor of `op` has words of
/// neighbours along the reduction, as long as a dot product takes them, beside
/// each other along the vectors, and the other has the same words after each
/// other.
std::optional<unsigned> findWordDim(MicroKernelOp op,
                                    const VectorFigures &figures);

/// True if `dim` is summed up in a loop around another one that is. Outer
/// products take any extent of such a dimension.
bool isOuterReduction(MicroKernelOp op, unsigned dim);

/// True if outer products that compute `op` also compute `finish`, which
/// updates its result.
bool isFinishedByOuterProduct(MicroKernelOp op, MicroKernelOp finish,
                              const VectorFigures &figures);

/// Emits `op`, a contraction, as outer products on `tile`, and what `context`
/// says. Fails, having emitted nothing, if an operand that the vector dimension
/// indexes is not contiguous along it.
llvm::LogicalResult emitOuterProduct(mlir::OpBuilder &builder, MicroKernelOp op,
                                     const VectorFigures &figures,
                                     const model::RegisterTile &tile,
                                     llvm::ArrayRef<int64_t> extents,
                                     const KernelContext &context);

/// True if `op` is a contraction of a few rows with a matrix, both contiguous
/// along the same reduced dimension; and if it is best computed along it.
bool mayBeInnerProduct(MicroKernelOp op);
bool isInnerProduct(MicroKernelOp op);

/// Emits `op`, for which mayBeInnerProduct holds. Fails, having emitted
/// nothing, if operands are not as contiguous in memory as their dimensions
/// say.
llvm::LogicalResult emitInnerProduct(mlir::OpBuilder &builder, MicroKernelOp op,
                                     const VectorFigures &figures,
                                     llvm::ArrayRef<int64_t> extents);

/// A condition that says when the code runs whether vectors of what `op` writes
/// element by element start at whole lines. Null if they are known not to, or
/// if `op` does not want them past the caches.
mlir::Value emitMayStream(mlir::OpBuilder &builder, MicroKernelOp op,
                          const VectorFigures &figures);

/// Emits `op`, an elementwise operation or a copy, one vector at a time. Fails,
/// having emitted nothing, if the body has an operation without vector form or
/// operands are not contiguous along a common dimension.
llvm::LogicalResult emitElementwise(mlir::OpBuilder &builder, MicroKernelOp op,
                                    const VectorFigures &figures,
                                    llvm::ArrayRef<int64_t> extents);

/// Emits `op`, a reduction, on several rows and vectors at a time. Fails,
/// having emitted nothing, where emitElementwise does, and if an output is
/// neither written element by element nor combined by an operation whose order
/// does not matter.
llvm::LogicalResult emitReduction(mlir::OpBuilder &builder, MicroKernelOp op,
                                  const VectorFigures &figures,
                                  llvm::ArrayRef<int64_t> extents);

/// Emits `op`, a copy that exchanges the contiguous dimension for another, by
/// transposing squares of `lanes` x `lanes` elements in registers.
llvm::LogicalResult emitTransposedCopy(mlir::OpBuilder &builder,
                                       MicroKernelOp op,
                                       const VectorFigures &figures,
                                       llvm::ArrayRef<int64_t> extents);

/// Emits `op`, a copy whose innermost dimension are the numbers of words of 32
/// bits, neighbours along another dimension of the source.
llvm::LogicalResult emitInterleavedCopy(mlir::OpBuilder &builder,
                                        MicroKernelOp op,
                                        const VectorFigures &figures,
                                        llvm::ArrayRef<int64_t> extents);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_MICROKERNELEMITTER_H
