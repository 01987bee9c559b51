//===- BodyEmitter.h - The scalar body of a kernel as vectors ---*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A body is written for one point of the iteration space. Most of its values
// depend on some of the dimensions only: the maximum of a row, a bias along
// columns. Emitted piece by piece, each value is computed outside the loops
// that it does not depend on; a compiler could not move the loads, since it
// does not know that the stores in those loops write elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_BODYEMITTER_H
#define CHIMERA_LIB_CONVERSION_BODYEMITTER_H

#include "MicroKernelEmitter.h"

#include "llvm/ADT/SmallBitVector.h"

namespace chimera {

class BodyEmitter : public MicroKernelEmitter {
public:
  BodyEmitter(mlir::OpBuilder &builder, MicroKernelOp op,
              const VectorFigures &figures, llvm::ArrayRef<int64_t> extents);

protected:
  using Dims = llvm::SmallBitVector;
  /// What has been emitted for the values of the body: integers that do not
  /// depend on the vector dimension as scalars, everything else as vectors.
  using Values = llvm::DenseMap<mlir::Value, mlir::Value>;

  /// Lets vectors run along the longest dimension along which every operand
  /// that it indexes is contiguous, rather one that is not reduced; if there is
  /// none, along one along which inputs may be spread. Fails if there is no
  /// such dimension either.
  llvm::LogicalResult chooseVectorDim();
  /// True if every operation of the body works on vectors as on scalars and may
  /// run on lanes that are thrown away.
  bool isCovered();
  /// True if every output has an element for each point of the parallel
  /// dimensions.
  bool writesEveryPoint();
  /// True if the body calls functions: much work, with a long latency.
  bool isLong();
  /// Emits what depends on dimensions in `known` alone and is not in `values`;
  /// `point` gives these dimensions. Vectors in memory have `count` elements.
  void emitKnown(const Dims &known, llvm::ArrayRef<mlir::Value> point,
                 LaneCount count, Values &values);
  /// Asks for vector number `vector` of a step at `point` of the inputs that
  /// the body does not use, which are read later: once for each line.
  void fetchUnused(llvm::ArrayRef<mlir::Value> point, int64_t vector);
  /// True if there are such inputs.
  bool fetches();
  /// What was emitted for `value`, as a vector.
  mlir::Value asVector(mlir::Value value, const Values &values);
  mlir::Block &body() { return op.getBody().front(); }
  mlir::Value yielded(unsigned output) {
    return body().getTerminator()->getOperand(output);
  }
  mlir::BlockArgument held(unsigned output) {
    return body().getArgument(op.getInputs().size() + output);
  }

  /// Values that emitKnown does not emit, nor what depends on them.
  llvm::DenseSet<mlir::Value> excluded;

private:
  /// True if the vectors of the body pass by elements of `argument`, which it
  /// does not use.
  bool isFetched(mlir::BlockArgument argument);
  /// Elements from one neighbour along `dim` to the next, if operand `operand`
  /// is an input that has a few others between them.
  std::optional<int64_t> findSpread(unsigned operand, unsigned dim);
  /// Input `operand`, which is spread, as memory without dimensions.
  mlir::Value flatten(unsigned operand);
  /// A vector of an input that is spread. Only what lies between the first and
  /// the last of `count` lanes is read.
  mlir::Value loadSpread(unsigned operand, llvm::ArrayRef<mlir::Value> point,
                         LaneCount count);
  mlir::Value emitArgument(mlir::BlockArgument argument,
                           llvm::ArrayRef<mlir::Value> point, LaneCount count);
  mlir::Value emitOperation(mlir::Operation &nested,
                            llvm::ArrayRef<mlir::Value> point,
                            const Values &values);
  mlir::Value emitBf16(mlir::Value value, bool flushes);
  mlir::Value emitIndices(mlir::Type type, llvm::ArrayRef<mlir::Value> point);
  mlir::Value emitTruncated(mlir::Value index, mlir::Type type,
                            llvm::ArrayRef<mlir::Value> point,
                            const Values &values);

  /// Of inputs that are spread along the vector dimension.
  llvm::DenseMap<unsigned, mlir::Value> flat;
  /// The dimensions that each value of the body depends on.
  llvm::DenseMap<mlir::Value, Dims> dependences;
};

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_BODYEMITTER_H
