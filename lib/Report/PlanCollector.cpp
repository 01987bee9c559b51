//===- PlanCollector.cpp - Keep what was planned, for a report ------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Report/PlanCollector.h"

#include "Chimera/IR/Chimera.h"
#include "Chimera/Support/OutputFile.h"

using namespace mlir;
using namespace chimera;

namespace {

class Listener : public PlanListener {
public:
  Listener(Dialect *dialect, PlanCollector &collector)
      : PlanListener(dialect), collector(collector) {}

  void planned(ChainPlan plan) override { collector.add(std::move(plan)); }

private:
  PlanCollector &collector;
};

class PartitionListener : public GraphListener {
public:
  PartitionListener(Dialect *dialect, PlanCollector &collector)
      : GraphListener(dialect), collector(collector) {}

  void partitioned(GraphPlan plan) override { collector.add(std::move(plan)); }

private:
  PlanCollector &collector;
};

/// Attaches a listener to the dialect in every context.
template <typename ListenerT>
class ListenerExtension
    : public DialectExtension<ListenerExtension<ListenerT>, ChimeraDialect> {
public:
  explicit ListenerExtension(PlanCollector &collector) : collector(collector) {}

  void apply(MLIRContext *, ChimeraDialect *dialect) const override {
    dialect->addInterface<ListenerT>(collector);
  }

  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ListenerExtension)

private:
  PlanCollector &collector;
};

} // namespace

template <typename ListenerT>
static void addListener(DialectRegistry &registry, PlanCollector &collector) {
  using Extension = ListenerExtension<ListenerT>;
  registry.addExtension(TypeID::get<Extension>(),
                        std::make_unique<Extension>(collector));
}

void PlanCollector::listen(DialectRegistry &registry) {
  addListener<Listener>(registry, *this);
  listenToPartitions(registry);
}

void PlanCollector::listenToPartitions(DialectRegistry &registry) {
  addListener<PartitionListener>(registry, *this);
}

void PlanCollector::add(ChainPlan plan) {
  std::lock_guard<std::mutex> lock(mutex);
  plans.push_back(std::move(plan));
}

void PlanCollector::add(GraphPlan plan) {
  std::lock_guard<std::mutex> lock(mutex);
  partitions.push_back(std::move(plan));
}

std::vector<GraphPlan> PlanCollector::getPartitions(size_t first) {
  std::lock_guard<std::mutex> lock(mutex);
  return {partitions.begin() + std::min(first, partitions.size()),
          partitions.end()};
}

llvm::Error PlanCollector::write(StringRef path) {
  std::lock_guard<std::mutex> lock(mutex);
  sortPlans(plans);
  return writeFile(path, [&](llvm::raw_ostream &os) {
    writeReport(os, plans, getReportFormat(path), partitions);
  });
}
