//===- OverlapTest.cpp - Blocks in numbers that can be followed -----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Model/Overlap.h"

#include "gtest/gtest.h"

using namespace chimera::model;

namespace {

constexpr double us = 1e-6;

/// 1 us, and 1 us for each 1000 bytes.
Network makeNetwork(double processorShare) {
  return {{{0, 1 * us}, {1000, 2 * us}}, /*measured=*/{}, processorShare};
}

constexpr Collective payload = {CollectiveKind::AllReduce, 8000, 2};

TEST(OverlapTest, WholesWaitForEachOther) {
  // 20 us of computing, then 1 + 8 us of network.
  EXPECT_DOUBLE_EQ(getSeconds({1, 20 * us}, payload, makeNetwork(0)), 29 * us);
  EXPECT_DOUBLE_EQ(getSeconds({1, 20 * us}, payload, makeNetwork(1)), 29 * us);
}

TEST(OverlapTest, NetworkHidesBehindComputing) {
  // Four blocks of 5 us, each with 1 + 2 us of network: all but the last hide.
  EXPECT_DOUBLE_EQ(getSeconds({4, 5 * us}, payload, makeNetwork(0)), 23 * us);
  // A third of each exchange is the processor's: 1 us three times.
  EXPECT_DOUBLE_EQ(getSeconds({4, 5 * us}, payload, makeNetwork(1.0 / 3)),
                   26 * us);
  // If all of it is, nothing hides, and three latencies come on top.
  EXPECT_DOUBLE_EQ(getSeconds({4, 5 * us}, payload, makeNetwork(1)), 32 * us);
}

TEST(OverlapTest, ComputingHidesBehindNetwork) {
  // Four blocks of 2 us, each with 3 us of network, one after the other.
  EXPECT_DOUBLE_EQ(getSeconds({4, 2 * us}, payload, makeNetwork(0)), 14 * us);
  // 2 us and half of 3 us are longer than the exchange.
  EXPECT_DOUBLE_EQ(getSeconds({4, 2 * us}, payload, makeNetwork(0.5)),
                   15.5 * us);
}

TEST(OverlapTest, MoreProcessesHaveMoreLatency) {
  // 12000 bytes on the wire for four processes in one block, and 3000 in each
  // of four; a doubling of the group is one more latency.
  Collective four = {CollectiveKind::AllReduce, 8000, 4};
  EXPECT_DOUBLE_EQ(getSeconds({1, 20 * us}, four, makeNetwork(0)), 34 * us);
  EXPECT_DOUBLE_EQ(getSeconds({4, 5 * us}, four, makeNetwork(0)), 25 * us);
}

TEST(OverlapTest, FastestNumberOfBlocks) {
  // Blocks take a little longer than their share: 29, 25.5, 24, 24.5 us.
  const BlockedExchange candidates[] = {
      {1, 20 * us}, {2, 10.25 * us}, {4, 5.25 * us}, {8, 2.8125 * us}};
  EXPECT_DOUBLE_EQ(getSeconds(candidates[1], payload, makeNetwork(0)),
                   25.5 * us);
  EXPECT_DOUBLE_EQ(getSeconds(candidates[2], payload, makeNetwork(0)), 24 * us);
  EXPECT_DOUBLE_EQ(getSeconds(candidates[3], payload, makeNetwork(0)),
                   24.5 * us);
  EXPECT_EQ(findFastest(candidates, payload, makeNetwork(0)), 2u);
  // Where the processor copies, blocks only cost.
  EXPECT_EQ(findFastest(candidates, payload, makeNetwork(1)), 0u);
  // Of equal ones the first.
  const BlockedExchange same[] = {{1, 0}, {1, 0}};
  EXPECT_EQ(findFastest(same, payload, makeNetwork(0)), 0u);
}

} // namespace
