//===- VectorKinds.cpp - Scalar operations and instructions ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

VectorKind ascend::withScalar(VectorKind kind) {
  return kind == VectorKind::Add   ? VectorKind::Adds
         : kind == VectorKind::Mul ? VectorKind::Muls
         : kind == VectorKind::Max ? VectorKind::Maxs
                                   : VectorKind::Mins;
}

std::optional<VectorKind> ascend::getBinaryKind(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<VectorKind>>(&op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return VectorKind::Add; })
      .Case<arith::SubFOp, arith::SubIOp>([](auto) { return VectorKind::Sub; })
      .Case<arith::MulFOp>([](auto) { return VectorKind::Mul; })
      .Case<arith::DivFOp>([](auto) { return VectorKind::Div; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [](auto) { return VectorKind::Max; })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [](auto) { return VectorKind::Min; })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<VectorKind> ascend::getUnaryKind(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<VectorKind>>(&op)
      .Case<math::ExpOp>([](auto) { return VectorKind::Exp; })
      .Case<math::LogOp>([](auto) { return VectorKind::Ln; })
      .Case<math::SqrtOp>([](auto) { return VectorKind::Sqrt; })
      .Case<math::AbsFOp>([](auto) { return VectorKind::Abs; })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<CompareKind> ascend::getCompareKind(Operation &op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::eq:
      return CompareKind::Eq;
    case arith::CmpIPredicate::ne:
      return CompareKind::Ne;
    case arith::CmpIPredicate::slt:
      return CompareKind::Lt;
    case arith::CmpIPredicate::sle:
      return CompareKind::Le;
    case arith::CmpIPredicate::sgt:
      return CompareKind::Gt;
    case arith::CmpIPredicate::sge:
      return CompareKind::Ge;
    default:
      // Numbers here have signs.
      return std::nullopt;
    }
  }
  switch (cast<arith::CmpFOp>(op).getPredicate()) {
  case arith::CmpFPredicate::OEQ:
    return CompareKind::Eq;
  case arith::CmpFPredicate::UNE:
    return CompareKind::Ne;
  case arith::CmpFPredicate::OLT:
    return CompareKind::Lt;
  case arith::CmpFPredicate::OLE:
    return CompareKind::Le;
  case arith::CmpFPredicate::OGT:
    return CompareKind::Gt;
  case arith::CmpFPredicate::OGE:
    return CompareKind::Ge;
  default:
    return std::nullopt;
  }
}
