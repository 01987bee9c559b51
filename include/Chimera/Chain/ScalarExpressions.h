//===- ScalarExpressions.h - How elements are computed ----------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax has as many spellings as there are front ends: any number of
// elementwise operations and row reductions, masks made from indices, and each
// value used several times. Here all of them become one expression for the
// element at a symbolic point, in which equal parts are one node. Two spellings
// of the same computation then differ little, and what is left is matched on
// the expression.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CHAIN_SCALAREXPRESSIONS_H
#define CHIMERA_CHAIN_SCALAREXPRESSIONS_H

#include "Chimera/Chain/AffineSum.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace chimera {

/// A node of the pool; equal expressions have equal ids.
using ExprId = unsigned;
/// A dimension of the symbolic point.
using PointDim = unsigned;

struct Expr {
  enum class Kind { Number, Tensor, Index, Operation, RowReduction };

  Kind kind = Kind::Number;
  mlir::Type type;
  /// The value of a number, the attributes of an operation.
  mlir::Attribute attribute;
  /// The tensor (or scalar) that is read.
  mlir::Value tensor;
  /// The name of an operation, or of what combines the elements of a row.
  llvm::StringRef name;
  /// Where a tensor is read, or which index it is.
  llvm::SmallVector<PointDim> dims;
  llvm::SmallVector<ExprId> operands;
  /// It differs along the dimension that rows run along.
  bool isElement = false;
  /// It holds a reduction along rows.
  bool holdsReduction = false;
};

class ExprPool {
public:
  /// Dimensions have `extents`; rows run along `rowDim`.
  ExprPool(mlir::MLIRContext *context, PointDim rowDim,
           llvm::ArrayRef<int64_t> extents)
      : context(context), rowDim(rowDim), extents(extents) {}

  /// Valid until the next node is made.
  const Expr &operator[](ExprId id) const { return nodes[id]; }

  ExprId number(mlir::TypedAttr value);
  ExprId number(double value, mlir::Type type);
  ExprId tensor(mlir::Value value, llvm::ArrayRef<PointDim> dims);
  ExprId index(PointDim dim);
  ExprId operation(llvm::StringRef name, mlir::Type type,
                   llvm::ArrayRef<ExprId> operands,
                   mlir::DictionaryAttr attributes = {});
  ExprId compare(llvm::StringRef name, int64_t predicate, ExprId lhs,
                 ExprId rhs);
  ExprId rowReduction(llvm::StringRef combiner, ExprId element);

  bool isOperation(ExprId id, llvm::StringRef name) const {
    return nodes[id].kind == Expr::Kind::Operation && nodes[id].name == name;
  }
  bool isRowReduction(ExprId id, llvm::StringRef combiner) const {
    return nodes[id].kind == Expr::Kind::RowReduction &&
           nodes[id].name == combiner;
  }
  /// The value of a floating-point number.
  std::optional<double> getNumber(ExprId id) const;
  bool isNegativeInfinity(ExprId id) const;
  bool isLowestNumber(ExprId id) const;
  bool isZero(ExprId id) const;
  /// Writes `expr` as a `linalg.generic` over `domain`, whose dimensions have
  /// `extents`. The result has one dimension per dimension of the domain.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location loc, ExprId expr,
                   llvm::ArrayRef<PointDim> domain,
                   llvm::ArrayRef<int64_t> extents);

private:
  ExprId add(Expr expr);
  std::optional<AffineSum> getSum(const Expr &expr) const;
  void compareSums(Expr &expr);
  void collectLeaves(ExprId id, llvm::DenseSet<ExprId> &seen,
                     llvm::SmallVectorImpl<ExprId> &leaves) const;
  mlir::Value emitScalar(mlir::OpBuilder &builder, mlir::Location loc,
                         ExprId id, llvm::ArrayRef<PointDim> domain,
                         std::map<ExprId, mlir::Value> &known);

  mlir::MLIRContext *context;
  PointDim rowDim;
  llvm::SmallVector<int64_t> extents;
  std::vector<Expr> nodes;
  /// What each node is as a sum of indices, if it is one.
  std::vector<std::optional<AffineSum>> sums;
  using Key =
      std::tuple<int, const void *, const void *, const void *, std::string,
                 std::vector<unsigned>, std::vector<unsigned>>;
  std::map<Key, ExprId> known;
};

/// Reads values of a block of `linalg.generic` operations with projected
/// permutations as maps.
class ExprReader {
public:
  ExprReader(ExprPool &pool, PointDim rowDim, int64_t rowExtent)
      : pool(pool), rowDim(rowDim), rowExtent(rowExtent) {}

  /// Reading `value` gives its element times `factor`. It can be read at one
  /// point only: at `dims`, or where it is read first.
  void define(mlir::Value value, double factor = 1,
              std::optional<llvm::SmallVector<PointDim>> dims = {}) {
    leaves[value] = {factor, std::move(dims)};
  }
  /// Where a defined value was read, if it was.
  std::optional<llvm::SmallVector<PointDim>> getPoint(mlir::Value value) const {
    return leaves.lookup(value).dims;
  }

  /// The element of `value` at `dims`. Nothing if it is computed by anything
  /// but elementwise operations and reductions along rows.
  std::optional<ExprId> read(mlir::Value value, llvm::ArrayRef<PointDim> dims);

private:
  /// What was read in the body of one operation: bodies share values.
  using Scalars = llvm::DenseMap<mlir::Value, std::optional<ExprId>>;

  std::optional<ExprId> readGeneric(mlir::linalg::GenericOp op, unsigned result,
                                    llvm::ArrayRef<PointDim> dims);
  std::optional<ExprId> readReduction(mlir::linalg::GenericOp op,
                                      unsigned result,
                                      llvm::ArrayRef<PointDim> loops);
  std::optional<ExprId> readScalar(mlir::linalg::GenericOp op,
                                   mlir::Value value,
                                   llvm::ArrayRef<PointDim> loops,
                                   Scalars &known);
  std::optional<ExprId> readOperation(mlir::linalg::GenericOp op,
                                      mlir::Operation *nested,
                                      llvm::ArrayRef<PointDim> loops,
                                      Scalars &known);

  ExprPool &pool;
  PointDim rowDim;
  int64_t rowExtent;
  struct Leaf {
    double factor = 1;
    std::optional<llvm::SmallVector<PointDim>> dims;
  };
  llvm::DenseMap<mlir::Value, Leaf> leaves;
  std::map<std::pair<const void *, std::vector<unsigned>>,
           std::optional<ExprId>>
      memo;
};

} // namespace chimera

#endif // CHIMERA_CHAIN_SCALAREXPRESSIONS_H
