//===- OfferCube.cpp - What the cube unit offers to plans -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cube unit multiplies fractals of f16, and of bytes, which have twice the
// depth. Other types, of which it may have units as well, have no code. Where
// bytes have none either, the lowering says why.
//
//===----------------------------------------------------------------------===//

#include "Code.h"

#include "Chimera/Conversion/Passes.h"
#include "Chimera/IR/MicroKernels.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::ascend;

static MicroKernelAttrInterface offerCube(TargetAttrInterface target,
                                          Type factor) {
  if (llvm::Triple(target.getTriple()).getArchName() != "davinci")
    return {};
  MLIRContext *context = target.getContext();
  FailureOr<model::Machine> machine = target.getMachine(factor);
  if (failed(machine) || !machine->matrix)
    return {};
  const int64_t depth = sideOf(factor);
  double cycles =
      fractal * fractal * depth / machine->matrix->multiplyAddsPerCycle;
  return MatrixProgramAttr::get(
      context, /*rows=*/fractal, /*columns=*/fractal, depth, factor,
      FloatAttr::get(Float64Type::get(context), cycles));
}

void chimera::registerAscendMicroKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ChimeraDialect *) {
    for (Type factor : std::initializer_list<Type>{
             Float16Type::get(context), IntegerType::get(context, 8)})
      MicroKernelRegistry::get(context).add(
          [factor](TargetAttrInterface target, RegisterTileAttr) {
            return offerCube(target, factor);
          },
          MicroKernelRegistry::Precedence::BackEnd);
  });
}
