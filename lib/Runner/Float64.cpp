//===- Float64.cpp - f32 programs in f64 ----------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Float64.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

static llvm::APFloat widen(llvm::APFloat value) {
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value;
}

/// Turns f32 into f64 in types and attributes. Sets `unsupported` on meeting an
/// attribute that holds f32 in a form it does not know.
static void addReplacements(AttrTypeReplacer &replacer, bool &unsupported) {
  replacer.addReplacement([](Float32Type type) -> std::optional<Type> {
    return Float64Type::get(type.getContext());
  });
  using Replacement = std::optional<std::pair<Attribute, WalkResult>>;
  replacer.addReplacement([](FloatAttr attr) -> Replacement {
    if (!attr.getType().isF32())
      return std::nullopt;
    auto type = Float64Type::get(attr.getContext());
    return std::make_pair(
        Attribute(FloatAttr::get(type, widen(attr.getValue()))),
        WalkResult::skip());
  });
  replacer.addReplacement([](DenseFPElementsAttr attr) -> Replacement {
    if (!attr.getElementType().isF32())
      return std::nullopt;
    DenseElementsAttr wide = attr.mapValues(
        Float64Type::get(attr.getContext()), [](const llvm::APFloat &value) {
          return widen(value).bitcastToAPInt();
        });
    return std::make_pair(Attribute(wide), WalkResult::skip());
  });
  replacer.addReplacement([&](DenseResourceElementsAttr attr) -> Replacement {
    unsupported |= attr.getElementType().isF32();
    return std::make_pair(Attribute(attr), WalkResult::skip());
  });
  replacer.addReplacement([&](DenseF32ArrayAttr attr) -> Replacement {
    unsupported = true;
    return std::make_pair(Attribute(attr), WalkResult::skip());
  });
}

/// Conversions between f32 and f64 have become conversions from f64 to f64;
/// conversions from f32 to shorter types keep their single rounding step.
static void fixCasts(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      return;
    Value source = op->getOperand(0);
    Type from = source.getType(), to = op->getResult(0).getType();
    if (from == to) {
      op->getResult(0).replaceAllUsesWith(source);
      op->erase();
      return;
    }
    if (!isa<arith::TruncFOp>(op) || !getElementTypeOrSelf(from).isF64())
      return;
    // Truncating f64 to less than f32 in one step would be a library call.
    OpBuilder builder(op);
    Type single = builder.getF32Type();
    if (auto shaped = dyn_cast<ShapedType>(from))
      single = shaped.clone(single);
    op->setOperand(
        0, arith::TruncFOp::create(builder, op->getLoc(), single, source));
  });
}

OwningOpRef<ModuleOp> chimera::runner::convertToFloat64(ModuleOp module) {
  OwningOpRef<ModuleOp> clone = module.clone();
  bool unsupported = false;
  AttrTypeReplacer replacer;
  addReplacements(replacer, unsupported);
  replacer.recursivelyReplaceElementsIn(*clone, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  if (unsupported)
    return nullptr;
  fixCasts(*clone);
  ScopedDiagnosticHandler silence(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  if (failed(verify(*clone)))
    return nullptr;
  return clone;
}

bool chimera::runner::usesType(Operation *root, Type type) {
  auto isMadeOf = [&](Type candidate) {
    return candidate
        .walk([&](Type part) {
          return part == type ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  };
  return root
      ->walk([&](Operation *op) {
        bool found = llvm::any_of(op->getResultTypes(), isMadeOf);
        for (Region &region : op->getRegions())
          for (Block &block : region)
            found |= llvm::any_of(block.getArgumentTypes(), isMadeOf);
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}
