//===- OfferCube.cpp - What the cube unit offers to plans -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cube unit multiplies fractals of f16. Other types, of which it may have
// units as well, have no code.
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
                                          RegisterTileAttr) {
  if (llvm::Triple(target.getTriple()).getArchName() != "davinci")
    return {};
  MLIRContext *context = target.getContext();
  Type factor = Float16Type::get(context);
  FailureOr<model::Machine> machine = target.getMachine(factor);
  if (failed(machine) || !machine->matrix)
    return {};
  double cycles =
      fractal * fractal * fractal / machine->matrix->multiplyAddsPerCycle;
  return MatrixProgramAttr::get(
      context, /*rows=*/fractal, /*columns=*/fractal, /*depth=*/fractal, factor,
      FloatAttr::get(Float64Type::get(context), cycles));
}

void chimera::registerAscendMicroKernels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ChimeraDialect *) {
    MicroKernelRegistry::get(context).add(
        offerCube, MicroKernelRegistry::Precedence::BackEnd);
  });
}
