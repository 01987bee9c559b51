//===- NarrowChains.cpp - Chains for matrix units -------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowChains.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace chimera;

void chimera::addNarrowTiling(OpPassManager &pm,
                              const SchedulePassOptions &schedule) {
  OpPassManager &func = pm.nest<func::FuncOp>();
  FormChainsPassOptions form;
  form.narrow = true;
  func.addPass(createFormChainsPass(form));
  func.addPass(createSchedulePass(schedule));
  TilePassOptions tile;
  tile.padRows = false;
  func.addPass(createTilePass(tile));
  func.addPass(createCanonicalizerPass());
  func.addPass(createCSEPass());
}
