//===- MemoryTest.cpp - Tests of how much memory there is -----------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Memory.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace chimera::runner;
using llvm::StringRef;

namespace {

/// A machine with 8 GiB left, described by files of its own.
struct MemoryTest : testing::Test {
  MemoryTest() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("chimera-memory", root));
    write("proc/meminfo", "MemTotal:       16777216 kB\n"
                          "MemFree:         1048576 kB\n"
                          "MemAvailable:    8388608 kB\n");
  }
  ~MemoryTest() override { llvm::sys::fs::remove_directories(root); }

  void write(StringRef name, StringRef text) {
    llvm::SmallString<128> path(root);
    llvm::sys::path::append(path, name);
    EXPECT_FALSE(
        llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path)));
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << text;
    EXPECT_FALSE(error);
  }
  /// In MiB.
  double getAvailable() { return getAvailableBytes(root) / (1 << 20); }

  llvm::SmallString<128> root;
};

TEST_F(MemoryTest, WithoutGroupsItIsTheMachines) {
  EXPECT_EQ(getAvailable(), 8192);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(getAvailable(), 8192);
}

TEST_F(MemoryTest, NothingKnownIsNoLimit) {
  EXPECT_TRUE(std::isinf(getAvailableBytes(("/no" + root).str())));
}

TEST_F(MemoryTest, Version2) {
  write("proc/self/cgroup", "0::/user.slice/app\n");
  write("sys/fs/cgroup/user.slice/app/memory.max", "1073741824\n");
  write("sys/fs/cgroup/user.slice/app/memory.current", "268435456\n");
  EXPECT_EQ(getAvailable(), 768);
  // Files that nobody reads make room.
  write("sys/fs/cgroup/user.slice/app/memory.stat",
        "anon 134217728\ninactive_file 67108864\nactive_file 67108864\n");
  EXPECT_EQ(getAvailable(), 832);
  write("sys/fs/cgroup/user.slice/app/memory.max", "max\n");
  EXPECT_EQ(getAvailable(), 8192);
}

TEST_F(MemoryTest, GroupsAboveCount) {
  write("proc/self/cgroup", "0::/user.slice/app\n");
  write("sys/fs/cgroup/user.slice/app/memory.max", "max\n");
  write("sys/fs/cgroup/user.slice/app/memory.current", "0\n");
  write("sys/fs/cgroup/user.slice/memory.max", "536870912\n");
  write("sys/fs/cgroup/user.slice/memory.current", "1073741824\n");
  EXPECT_EQ(getAvailable(), 0);
}

TEST_F(MemoryTest, TheTopOfTheTreeIsAContainersOwn) {
  write("proc/self/cgroup", "0::/docker/1f00\n");
  write("sys/fs/cgroup/memory.max", "2147483648\n");
  write("sys/fs/cgroup/memory.current", "1073741824\n");
  EXPECT_EQ(getAvailable(), 1024);
}

TEST_F(MemoryTest, Version1) {
  write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/1f00\n"
                            "3:cpuset:/\n0::/\n");
  write("sys/fs/cgroup/memory/docker/1f00/memory.limit_in_bytes",
        "1073741824\n");
  write("sys/fs/cgroup/memory/docker/1f00/memory.usage_in_bytes",
        "1073741824\n");
  write("sys/fs/cgroup/memory/docker/1f00/memory.stat",
        "inactive_file 1\ntotal_inactive_file 104857600\n");
  EXPECT_EQ(getAvailable(), 100);
  // What version 1 says instead of "max".
  write("sys/fs/cgroup/memory/docker/1f00/memory.limit_in_bytes",
        "9223372036854771712\n");
  EXPECT_EQ(getAvailable(), 8192);
}

} // namespace
