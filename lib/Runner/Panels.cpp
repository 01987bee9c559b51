//===- Panels.cpp - The panels that constants are packed in ---------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Panels.h"

#include "Chimera/Chain/ChainAnalysis.h"
#include "Chimera/Chain/SameInEveryCall.h"
#include "Chimera/Chain/ScheduleConversion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace chimera;
using namespace chimera::runner;

/// The function that is called where `function` runs: the one it is a version
/// of.
static StringRef getEntry(func::FuncOp function) {
  auto general =
      function->getAttrOfType<StringAttr>(ChimeraDialect::getVersionAttrName());
  return general ? general.getValue() : function.getName();
}

/// Adds the constants that `chain` packs to `panels`.
static void addPanels(ChainOp chain, std::vector<Panels> &panels) {
  std::string reason;
  FailureOr<ChainAnalysis> analysis = analyzeChain(chain, reason);
  if (failed(analysis))
    return;
  FailureOr<model::Schedule> schedule =
      convertSchedule(chain, chain.getScheduleAttr(), *analysis);
  if (failed(schedule))
    return;
  for (const auto &[index, op] : llvm::enumerate(analysis->problem.operators))
    for (const model::Access &input : op.inputs) {
      auto argument = dyn_cast<BlockArgument>(analysis->tensors[input]);
      if (!argument || !llvm::is_contained(schedule->prepacked, input.tensor))
        continue;
      std::optional<int64_t> columns =
          model::prepackedColumns(analysis->problem, *schedule, index, input);
      if (!columns)
        continue;
      Value packed = chain.getInputs()[argument.getArgNumber()];
      for (BlockArgument constant : findConstantArguments(packed)) {
        unsigned number = constant.getArgNumber();
        if (llvm::none_of(panels, [&](const Panels &known) {
              return known.argument == number;
            }))
          panels.push_back({number, *columns});
      }
    }
}

void chimera::runner::findPanels(ModuleOp module,
                                 MutableArrayRef<Function> functions) {
  for (auto function : module.getOps<func::FuncOp>())
    for (Function &entry : functions)
      if (entry.name == getEntry(function))
        function.walk([&](ChainOp chain) {
          if (chain.getScheduleAttr())
            addPanels(chain, entry.panels);
        });
}
