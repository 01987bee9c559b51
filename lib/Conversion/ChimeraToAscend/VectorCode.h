//===- VectorCode.h - Code for the vector unit ------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An elementwise kernel runs over the column groups of its tile. Of each group
// it brings what it reads into UB, sums as well as what comes from memory, runs
// the operations of its body one after the other on the whole group, and hands
// the result on, into L1 or to memory.
//
// In a column group a row is 16 numbers, two blocks if they are f32. What is
// the same for all rows (a bias) is read again and again with a distance of
// zero; what is the same for a whole row is first spread over a block.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_VECTORCODE_H
#define CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_VECTORCODE_H

#include "KernelLowering.h"

namespace chimera::ascend {

class VectorCode {
public:
  VectorCode(KernelLowering &lowering, MicroKernelOp kernel)
      : lowering(lowering), code(lowering.code), builder(lowering.builder),
        kernel(kernel) {}

  mlir::LogicalResult emit();

private:
  /// Which of the two dimensions a value depends on.
  enum class Shape { Number, Columns, Group };

  /// What stands for a value of the body: a number, or where its elements are.
  struct Operand {
    Shape shape = Shape::Number;
    mlir::Value value;
    mlir::Type type;
  };

  mlir::LogicalResult prepare();
  mlir::LogicalResult prepareInput(unsigned input);
  mlir::LogicalResult bringColumns(unsigned input);
  Operand readGroup(unsigned input, mlir::Value column, mlir::Value slot);
  mlir::LogicalResult emitBody(mlir::Value column);
  mlir::FailureOr<Operand> emitOperation(mlir::Operation &op);
  mlir::LogicalResult emitBinary(VectorKind kind, mlir::Value to, Operand a,
                                 Operand b);
  mlir::LogicalResult emitErf(mlir::Value to, Operand x);
  mlir::LogicalResult emitTanh(mlir::Value to, Operand x);
  void emitUnary(VectorKind kind, mlir::Value to, mlir::Value from);
  void emitScalar(VectorKind kind, mlir::Value to, mlir::Value from,
                  double number);
  void dup(mlir::Value to, double number);
  void write(mlir::Value column, mlir::Value slot);

  mlir::Value temporary();
  void release(mlir::Value address);
  void releaseUnused(mlir::Operation &op);
  mlir::Value asNumber(double number);
  mlir::Value repeats() { return code.div(rows, groupRowsPerRepeat); }

  /// Rows of a group of f32 that one repeat covers.
  static constexpr int64_t groupRowsPerRepeat = 4;

  KernelLowering &lowering;
  Code &code;
  mlir::OpBuilder &builder;
  MicroKernelOp kernel;

  Matrix output;
  /// Rows of a group, rounded up.
  mlir::Value rows;
  std::optional<Place> outputPlace;
  /// What each input comes to.
  struct Input {
    std::optional<Matrix> matrix;
    std::optional<Place> place;
    /// The first of its columns in UB, if it has no rows.
    mlir::Value columns;
    bool isSum = false;
  };
  llvm::SmallVector<Input, 0> inputs;
  llvm::DenseMap<mlir::Value, Operand> operands;
  /// The places in use, by their number.
  llvm::DenseMap<mlir::Value, unsigned> taken;
};

} // namespace chimera::ascend

#endif // CHIMERA_LIB_CONVERSION_CHIMERATOASCEND_VECTORCODE_H
