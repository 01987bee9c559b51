//===- RemarksTest.cpp ----------------------------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Remarks.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "gtest/gtest.h"

#include <set>
#include <thread>

using namespace mlir;
using namespace chimera::runner;

namespace {

TEST(RemarkCollector, KeepsWhatSeveralThreadsSay) {
  constexpr int numThreads = 4, perThread = 500;
  MLIRContext context;
  RemarkCollector collector(&context);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < numThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < perThread; ++i)
        remark::passed(UnknownLoc::get(&context),
                       remark::RemarkOpts::name("count").category("chimera"))
            << std::to_string(thread * perThread + i);
    });
  for (std::thread &thread : threads)
    thread.join();
  std::set<std::string> texts;
  for (const Remark &remark : collector.take())
    texts.insert(remark.text);
  EXPECT_EQ(texts.size(), size_t(numThreads * perThread));
}

} // namespace
