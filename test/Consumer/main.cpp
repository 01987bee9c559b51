//===- main.cpp - Chimera in another program ------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a compiler that embeds Chimera does: it has linalg on tensors, lets
// Chimera decide, looks at the decision, and takes what LLVM can compile.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Pipelines.h"
#include "Chimera/IR/Chimera.h"
#include "Chimera/InitAll.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

/// Two matrix products, of which the second reads the result of the first.
static constexpr llvm::StringLiteral source = R"mlir(
func.func @chain(%a: tensor<256x64xf32>, %b: tensor<64x256xf32>,
                 %d: tensor<256x64xf32>) -> tensor<256x64xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<256x256xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<256x256xf32>)
      -> tensor<256x256xf32>
  %2 = linalg.matmul ins(%a, %b : tensor<256x64xf32>, tensor<64x256xf32>)
      outs(%1 : tensor<256x256xf32>) -> tensor<256x256xf32>
  %3 = tensor.empty() : tensor<256x64xf32>
  %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<256x64xf32>)
      -> tensor<256x64xf32>
  %5 = linalg.matmul ins(%2, %d : tensor<256x256xf32>, tensor<256x64xf32>)
      outs(%4 : tensor<256x64xf32>) -> tensor<256x64xf32>
  return %5 : tensor<256x64xf32>
}
)mlir";

static int fail(llvm::StringRef what) {
  llvm::errs() << "consumer: " << what << "\n";
  return 1;
}

int main() {
  DialectRegistry registry;
  chimera::registerAllDialects(registry);
  MLIRContext context(registry);

  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, &context);
  if (!module)
    return fail("the module does not parse");

  chimera::PlanningOptions options;
  options.target = "avx2";
  options.fuse = chimera::FuseMode::Always;

  PassManager planning(&context);
  chimera::buildFrontEndPipeline(planning);
  chimera::buildPlanningPipeline(planning, options);
  if (failed(planning.run(*module)))
    return fail("planning failed");

  int64_t numFused = 0;
  module->walk([&](chimera::ChainOp chain) {
    if (chimera::PlanAttr plan = chain.getPlanAttr())
      numFused += plan.getVerdict() == chimera::Verdict::Fused;
  });

  chimera::LoweringOptions loweringOptions;
  loweringOptions.target = "avx2";
  PassManager lowering(&context);
  chimera::buildLoweringPipeline(lowering, loweringOptions);
  if (failed(lowering.run(*module)))
    return fail("lowering failed");
  WalkResult lowered = module->walk([](Operation *op) {
    llvm::StringRef dialect = op->getName().getDialectNamespace();
    return dialect == "builtin" || dialect == "llvm" || dialect == "omp"
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  if (lowered.wasInterrupted())
    return fail("an operation is left that LLVM does not know");

  llvm::outs() << "ok: " << numFused << " chains fused\n";
  return 0;
}
