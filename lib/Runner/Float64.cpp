//===- Float64.cpp - Programs in f64 --------------------------------------===//
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

/// True for floats that have fewer digits than f64.
static bool isShort(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type>(type);
}

/// Turns shorter floats into f64 in types and attributes. Sets `unsupported` on
/// meeting an attribute that holds some in a form it does not know.
static void addReplacements(AttrTypeReplacer &replacer, bool &unsupported) {
  replacer.addReplacement([](FloatType type) -> std::optional<Type> {
    if (!isShort(type))
      return std::nullopt;
    return Float64Type::get(type.getContext());
  });
  using Replacement = std::optional<std::pair<Attribute, WalkResult>>;
  replacer.addReplacement([](FloatAttr attr) -> Replacement {
    if (!isShort(attr.getType()))
      return std::nullopt;
    auto type = Float64Type::get(attr.getContext());
    return std::make_pair(
        Attribute(FloatAttr::get(type, widen(attr.getValue()))),
        WalkResult::skip());
  });
  replacer.addReplacement([](DenseFPElementsAttr attr) -> Replacement {
    if (!isShort(attr.getElementType()))
      return std::nullopt;
    DenseElementsAttr wide = attr.mapValues(
        Float64Type::get(attr.getContext()), [](const llvm::APFloat &value) {
          return widen(value).bitcastToAPInt();
        });
    return std::make_pair(Attribute(wide), WalkResult::skip());
  });
  replacer.addReplacement([&](DenseResourceElementsAttr attr) -> Replacement {
    unsupported |= isShort(attr.getElementType());
    return std::make_pair(Attribute(attr), WalkResult::skip());
  });
  replacer.addReplacement([&](DenseF32ArrayAttr attr) -> Replacement {
    unsupported = true;
    return std::make_pair(Attribute(attr), WalkResult::skip());
  });
}

/// Marks conversions to f16 and bf16 with the type, which they will lose.
static constexpr llvm::StringLiteral kRoundsTo = "rounds_to";

static void markRounding(ModuleOp module) {
  module.walk([](arith::TruncFOp op) {
    Type type = getElementTypeOrSelf(op.getType());
    if (type.isF16() || type.isBF16())
      op->setAttr(kRoundsTo, StringAttr::get(op.getContext(),
                                             type.isF16() ? "f16" : "bf16"));
  });
}

/// `value`, of f64, with the digits of the type called `name`.
static Value round(OpBuilder &builder, Value value, StringRef name) {
  Type narrow =
      name == "f16" ? Type(builder.getF16Type()) : builder.getBF16Type();
  auto convert = [&](Type element) -> Type {
    auto shaped = dyn_cast<ShapedType>(value.getType());
    return shaped ? Type(shaped.clone(element)) : element;
  };
  Location loc = value.getLoc();
  // Truncating f64 to less than f32 in one step would be a library call.
  Value rounded = value;
  for (Type element : {Type(builder.getF32Type()), narrow})
    rounded = arith::TruncFOp::create(builder, loc, convert(element), rounded);
  return arith::ExtFOp::create(builder, loc, value.getType(), rounded);
}

/// Conversions between floats have become conversions from f64 to f64. Those
/// that are marked still round.
static void fixCasts(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op) ||
        op->getOperand(0).getType() != op->getResult(0).getType())
      return;
    Value source = op->getOperand(0);
    OpBuilder builder(op);
    if (auto name = op->getAttrOfType<StringAttr>(kRoundsTo))
      source = round(builder, source, name.getValue());
    op->getResult(0).replaceAllUsesWith(source);
    op->erase();
  });
}

OwningOpRef<ModuleOp> chimera::runner::convertToFloat64(ModuleOp module) {
  OwningOpRef<ModuleOp> clone = module.clone();
  markRounding(*clone);
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
