//===- PlanCollector.h - Keep what was planned, for a report ----*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_REPORT_PLANCOLLECTOR_H
#define CHIMERA_REPORT_PLANCOLLECTOR_H

#include "Chimera/Report/GraphReport.h"
#include "Chimera/Report/PlanReport.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/Error.h"

#include <mutex>
#include <vector>

namespace chimera {

/// The plans of all contexts of a registry, on any thread. It has to live as
/// long as they do.
class PlanCollector {
public:
  /// Hears of every chain that is planned, and every block that is partitioned,
  /// in contexts with `registry`.
  void listen(mlir::DialectRegistry &registry);
  /// Hears of partitions alone, which take no time to describe.
  void listenToPartitions(mlir::DialectRegistry &registry);

  void add(ChainPlan plan);
  void add(GraphPlan plan);

  /// The partitions there are from number `first` on.
  std::vector<GraphPlan> getPartitions(size_t first = 0);

  /// Writes a report of the plans so far to the file `path`, whole or not at
  /// all, in the format that goes with its name; "-" is standard output.
  llvm::Error write(llvm::StringRef path);

private:
  std::mutex mutex;
  std::vector<ChainPlan> plans;
  std::vector<GraphPlan> partitions;
};

} // namespace chimera

#endif // CHIMERA_REPORT_PLANCOLLECTOR_H
