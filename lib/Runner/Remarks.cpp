//===- Remarks.cpp - What the compiler says of its decisions --------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Remarks.h"

#include "Chimera/Runner/DiagnosticError.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <mutex>
#include <set>

using namespace chimera::runner;
namespace remark = mlir::remark;

static llvm::StringRef getKind(const remark::detail::Remark &remark) {
  switch (remark.getRemarkType()) {
  case llvm::remarks::Type::Passed:
    return "passed";
  case llvm::remarks::Type::Missed:
    return "missed";
  case llvm::remarks::Type::Failure:
    return "failed";
  default:
    return "analysis";
  }
}

namespace {
/// Where the engine of the context puts remarks: those of several functions at
/// the same time, if passes run on these in parallel.
class Listener : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Listener(std::vector<Remark> &remarks) : remarks(remarks) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    Remark kept;
    kept.kind = getKind(remark);
    kept.name = remark.getRemarkName();
    kept.place = findPlace(remark.getLocation()).str();
    for (const remark::detail::Remark::Arg &argument : remark.getArgs())
      kept.text += argument.val;
    std::lock_guard<std::mutex> lock(mutex);
    if (known.insert({kept.kind, kept.name, kept.place, kept.text}).second)
      remarks.push_back(std::move(kept));
  }

private:
  std::mutex mutex;
  std::vector<Remark> &remarks;
  /// What is in `remarks`: a program of many layers has many.
  std::set<std::array<std::string, 4>> known;
};
} // namespace

RemarkCollector::RemarkCollector(mlir::MLIRContext *context)
    : context(context) {
  remark::RemarkCategories categories;
  // `all` adds to those of these that are set.
  categories.passed = categories.missed = categories.analysis =
      categories.failed = "^chimera(-shard)?$";
  // Fails only where the context has an engine already: nothing is kept then.
  (void)remark::enableOptimizationRemarks(
      *context, std::make_unique<Listener>(remarks),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

RemarkCollector::~RemarkCollector() { context->setRemarkEngine(nullptr); }

std::vector<Remark> RemarkCollector::take() { return std::move(remarks); }

void chimera::runner::printRemarks(llvm::ArrayRef<Remark> remarks,
                                   llvm::raw_ostream &os) {
  for (const Remark &remark : remarks) {
    os << llvm::left_justify(remark.kind, 9) << ' ';
    if (!remark.place.empty())
      os << remark.place << ": ";
    os << remark.text << '\n';
  }
}
