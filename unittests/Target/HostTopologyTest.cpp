//===- HostTopologyTest.cpp - Tests of what Linux reports -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostTopology.h"

#include "Families.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

using namespace chimera;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

namespace {

/// Of one cache: its level, the threads that share it, its size and ways.
struct CacheFiles {
  int level;
  const char *type, *threads, *size, *ways;
};

/// A machine described by a directory of its own.
struct HostTopologyTest : testing::Test {
  HostTopologyTest() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("chimera-cpu", root));
  }
  ~HostTopologyTest() override { llvm::sys::fs::remove_directories(root); }

  void write(const Twine &name, StringRef text) {
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, name);
    EXPECT_FALSE(
        llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path)));
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << text << '\n';
    EXPECT_FALSE(error);
  }
  /// Adds hardware thread `thread`, of the core that has the threads
  /// `siblings`.
  void addThread(unsigned thread, StringRef siblings,
                 ArrayRef<CacheFiles> caches,
                 StringRef siblingsFile = "core_cpus_list") {
    std::string directory = "cpu" + std::to_string(thread);
    write(directory + "/topology/" + siblingsFile, siblings);
    for (auto [index, cache] : llvm::enumerate(caches)) {
      std::string prefix =
          directory + "/cache/index" + std::to_string(index) + "/";
      write(prefix + "level", std::to_string(cache.level));
      write(prefix + "type", cache.type);
      write(prefix + "shared_cpu_list", cache.threads);
      write(prefix + "size", cache.size);
      write(prefix + "ways_of_associativity", cache.ways);
    }
  }
  HostTopology read(ArrayRef<unsigned> usable) {
    return readHostTopology(root, usable);
  }
  /// `level, capacity in KiB / sharers, ways` of each cache.
  static std::string describe(const HostTopology &topology) {
    std::string text;
    for (const HostTopology::Cache &cache : topology.caches)
      text += ("L" + Twine(cache.level) + " " + Twine(cache.capacity / 1024) +
               "/" + Twine(cache.sharers) + " " + Twine(cache.ways) + "; ")
                  .str();
    return text;
  }

  llvm::SmallString<128> root;
};

TEST_F(HostTopologyTest, PlainMachine) {
  for (unsigned thread : {0, 1}) {
    std::string own = std::to_string(thread);
    addThread(thread, own,
              {{1, "Data", own.c_str(), "32K", "8"},
               {1, "Instruction", own.c_str(), "64K", "16"},
               {2, "Unified", own.c_str(), "1024K", "8"},
               {3, "Unified", "0-1", "32768K", "16"}});
  }
  HostTopology topology = read({0, 1});
  EXPECT_EQ(topology.cores, 2);
  EXPECT_EQ(describe(topology), "L1 32/1 8; L2 1024/1 8; L3 32768/2 16; ");
}

TEST_F(HostTopologyTest, ThreadsOfOneCoreCountOnce) {
  // Four cores with two threads each, numbered as Intel's are: 0 and 4, ...
  for (unsigned thread = 0; thread < 8; ++thread) {
    unsigned core = thread % 4;
    std::string own = std::to_string(core) + "," + std::to_string(core + 4);
    addThread(thread, own,
              {{1, "Data", own.c_str(), "48K", "12"},
               {2, "Unified", own.c_str(), "2048K", "16"},
               {3, "Unified", "0-7", "36864K", "12"}});
  }
  HostTopology topology = read({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(topology.cores, 4);
  EXPECT_EQ(describe(topology), "L1 48/1 12; L2 2048/1 16; L3 36864/4 12; ");
  // What the process may not use, it shares nothing with.
  topology = read({0, 1, 4});
  EXPECT_EQ(topology.cores, 2);
  EXPECT_EQ(topology.find(3)->sharers, 2);
  EXPECT_EQ(topology.find(4), nullptr);
}

TEST_F(HostTopologyTest, OlderKernelsNameTheListOtherwise) {
  for (unsigned thread : {0, 1, 2, 3})
    addThread(thread, thread < 2 ? "0-1" : "2-3", {}, "thread_siblings_list");
  EXPECT_EQ(read({0, 1, 2, 3}).cores, 2);
}

TEST_F(HostTopologyTest, HybridMachineIsAsItsLeastCore) {
  // Two large cores with two threads each, and four small ones, which share
  // their second level.
  for (unsigned thread = 0; thread < 4; ++thread) {
    const char *own = thread < 2 ? "0-1" : "2-3";
    addThread(thread, own,
              {{1, "Data", own, "48K", "12"},
               {2, "Unified", own, "1280K", "10"},
               {3, "Unified", "0-7", "12288K", "12"}});
  }
  for (unsigned thread = 4; thread < 8; ++thread) {
    std::string own = std::to_string(thread);
    addThread(thread, own,
              {{1, "Data", own.c_str(), "32K", "8"},
               {2, "Unified", "4-7", "2048K", "16"},
               {3, "Unified", "0-7", "12288K", "12"}});
  }
  HostTopology topology = read({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(topology.cores, 6);
  EXPECT_EQ(describe(topology), "L1 32/1 8; L2 2048/4 16; L3 12288/6 12; ");
  EXPECT_EQ(describe(read({0, 1, 2, 3})),
            "L1 48/1 12; L2 1280/1 10; L3 12288/2 12; ");
}

TEST_F(HostTopologyTest, WhatIsMissingIsLeftOut) {
  HostTopology topology = read({0, 1, 5});
  EXPECT_EQ(topology.cores, 3);
  EXPECT_TRUE(topology.caches.empty());
  addThread(0, "zero",
            {{1, "Data", "0", "much", "8"}, {2, "Unified", "", "512K", ""}});
  topology = read({0});
  EXPECT_EQ(topology.cores, 1);
  EXPECT_EQ(describe(topology), "L2 512/1 0; ");
  EXPECT_EQ(read({}).cores, 0);
}

TEST_F(HostTopologyTest, TargetsTakeWhatIsKnown) {
  mlir::MLIRContext context;
  context.loadDialect<ChimeraDialect>();
  TargetFigures figures(getX86Target(&context, "zen4"));
  int64_t bandwidth = figures.levels[1].coreBandwidth;
  HostTopology topology;
  topology.cores = 6;
  topology.caches = {{1, 32 * 1024, 0, 1}, {2, 2048 * 1024, 16, 4}};
  refine(figures, topology);
  EXPECT_EQ(figures.cores, 6);
  EXPECT_EQ(figures.levels[0].sharers, 6);
  EXPECT_EQ(figures.levels[0].capacity, 32 * 1024 * 1024);
  EXPECT_EQ(figures.levels[1].sharers, 4);
  EXPECT_EQ(figures.levels[1].capacity, 2048 * 1024);
  EXPECT_EQ(figures.levels[1].ways, 16);
  EXPECT_EQ(figures.levels[1].chipBandwidth, 6 * bandwidth);
  EXPECT_EQ(figures.levels[2].ways, 8);
}

} // namespace
