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

std::optional<model::VectorValue>
ascend::getCosts(Operation &op, bool hasNumber, Architecture architecture) {
  model::VectorValue costs;
  costs.kind = model::VectorValue::Kind::Compute;
  Type f32 = Float32Type::get(op.getContext());
  auto cycles = [&](VectorKind kind) {
    return getRepeatCycles(stringifyVectorKind(kind), f32);
  };
  // Extrema have no form with a number on every core.
  bool hasExtrema = hasInstruction(architecture, "vmaxs", f32);
  if (std::optional<VectorKind> kind = getBinaryKind(op)) {
    bool isExtremum = kind == VectorKind::Max || kind == VectorKind::Min;
    costs.cycles = hasNumber ? 1 : cycles(*kind);
    if (hasNumber && kind == VectorKind::Sub)
      costs.cycles = 2 * cycles(VectorKind::Adds);
    bool needsBlock =
        hasNumber && (kind == VectorKind::Div || (isExtremum && !hasExtrema));
    if (needsBlock) {
      costs.numbers = 1;
      costs.cycles = cycles(*kind);
    }
    return costs;
  }
  if (std::optional<VectorKind> kind = getUnaryKind(op)) {
    costs.cycles = cycles(*kind);
    return costs;
  }
  if (isa<arith::NegFOp>(op)) {
    costs.cycles = cycles(VectorKind::Muls);
    return costs;
  }
  if (isa<math::RsqrtOp>(op)) {
    costs.cycles = cycles(VectorKind::Sqrt) + cycles(VectorKind::Div);
    costs.numbers = 1;
    return costs;
  }
  if (isa<math::Exp2Op>(op)) {
    costs.cycles = cycles(VectorKind::Muls) + cycles(VectorKind::Exp);
    return costs;
  }
  if (isa<math::TanhOp, math::ErfOp>(op)) {
    constexpr int64_t terms = 9;
    costs.cycles =
        terms * (cycles(VectorKind::Adds) + cycles(VectorKind::Mul)) +
        cycles(VectorKind::Mul) + cycles(VectorKind::Div);
    costs.temporaries = 2;
    costs.numbers = hasExtrema ? 0 : 1;
    return costs;
  }
  if (isa<arith::CmpFOp>(op) && getCompareKind(op)) {
    costs.cycles = 2 * cycles(VectorKind::Adds) + 2;
    costs.temporaries = 2;
    return costs;
  }
  if (isa<arith::SelectOp>(op)) {
    costs.cycles = 2 * cycles(VectorKind::Adds) + 2;
    costs.temporaries = 2;
    return costs;
  }
  return std::nullopt;
}
