//===- TestProgram.h - Programs from text, and their values -----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is a function of linalg operations on small tensors. It has two
// evaluations, both in f64 and in integers of the width that is written: of the
// operations themselves, and of the expressions that are read from them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_UNITTESTS_CHAIN_TESTPROGRAM_H
#define CHIMERA_UNITTESTS_CHAIN_TESTPROGRAM_H

#include "Chimera/Chain/ScalarExpressions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "gtest/gtest.h"

#include <functional>
#include <map>
#include <string>

namespace chimera {

/// A fixture that parses programs, one at a time.
class ProgramTest : public testing::Test {
protected:
  ProgramTest();

  /// The only function of `text`, which has to be valid.
  mlir::func::FuncOp parse(llvm::StringRef text);
  mlir::Value getArgument(unsigned index) {
    return function.getArgument(index);
  }
  /// What the function returns.
  mlir::Value getReturned(unsigned index);
  /// The only operation of the program that has the attribute `name`.
  mlir::Operation *findMarked(llvm::StringRef name = "here");

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> program;
  mlir::func::FuncOp function;
};

using Point = std::vector<int64_t>;
/// The element of a tensor that is not computed, or of which nobody wants to
/// know how.
using Elements = std::function<double(mlir::Value, const Point &)>;

/// The elements of tensors, operation by operation.
class ProgramEvaluator {
public:
  explicit ProgramEvaluator(Elements inputs) : inputs(std::move(inputs)) {}

  double evaluate(mlir::Value tensor, const Point &point);

private:
  double compute(mlir::linalg::GenericOp op, unsigned result,
                 const Point &point);
  std::vector<double> runBody(mlir::linalg::GenericOp op, const Point &loops,
                              llvm::ArrayRef<double> sums);

  Elements inputs;
  std::map<std::pair<const void *, Point>, double> known;
};

/// The value of an expression at a point.
double evaluate(const ExprPool &pool, ExprId id, PointDim rowDim,
                llvm::ArrayRef<int64_t> extents, const Point &point,
                const Elements &inputs);

/// `id` as a term, such as divf(product, sum), with the names of its tensors.
std::string print(const ExprPool &pool, ExprId id,
                  const std::map<const void *, std::string> &names);

/// Calls `visit` for all points within `extents`.
void forEachPoint(llvm::ArrayRef<int64_t> extents,
                  llvm::function_ref<void(const Point &)> visit);

/// Equal, both infinite with the same sign, both NaN, or different by no more
/// than `tolerance` times their size.
bool areClose(double left, double right, double tolerance = 0);

} // namespace chimera

#endif // CHIMERA_UNITTESTS_CHAIN_TESTPROGRAM_H
