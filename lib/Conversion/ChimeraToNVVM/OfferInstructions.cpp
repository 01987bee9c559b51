//===- OfferInstructions.cpp - What tensor cores offer to plans -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One mma.sync for each type of factors that the target has tensor cores for.
// Its shape is that of the fragments, its cost follows from the target's rate.
//
//===----------------------------------------------------------------------===//

#include "FragmentMaps.h"

#include "Chimera/Conversion/Passes.h"
#include "Chimera/IR/ElementBytes.h"
#include "Chimera/IR/MicroKernels.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace chimera;

static MicroKernelAttrInterface offerInstruction(TargetAttrInterface target,
                                                 Type factor) {
  if (!llvm::Triple(target.getTriple()).isNVPTX())
    return {};
  FailureOr<model::Machine> machine = target.getMachine(factor);
  if (failed(machine) || !machine->matrix)
    return {};
  int64_t depth = getMmaDepth(bytesOf(factor));
  double cycles =
      mmaRows * mmaColumns * depth / machine->matrix->multiplyAddsPerCycle;
  MLIRContext *context = target.getContext();
  return MatrixProgramAttr::get(
      context, mmaRows, mmaColumns, depth, factor,
      FloatAttr::get(Float64Type::get(context), cycles));
}

void chimera::registerNVVMMicroKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ChimeraDialect *) {
    for (Type factor : std::initializer_list<Type>{
             Float16Type::get(context), BFloat16Type::get(context),
             FloatTF32Type::get(context), IntegerType::get(context, 8)})
      MicroKernelRegistry::get(context).add(
          [factor](TargetAttrInterface target, RegisterTileAttr) {
            return offerInstruction(target, factor);
          },
          MicroKernelRegistry::Precedence::BackEnd);
  });
}
