//===- Memory.cpp - How much memory there is ------------------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linux says in /proc/meminfo what the machine has. Limits of control groups
// are in directories that mirror the tree of groups: one tree for all of them
// in version 2, one for memory alone in version 1. A process is bound by its
// group and by every group above.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Runner/Memory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <limits>
#include <optional>

using llvm::SmallString;
using llvm::StringRef;
namespace path = llvm::sys::path;

static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

namespace {
/// Where one version of control groups keeps its figures.
struct GroupFiles {
  StringRef tree, limit, usage;
  /// In the file memory.stat: bytes of files in memory that nobody has read for
  /// a while. They count as used, but make room when it is needed.
  StringRef reclaimable;
};
} // namespace

static constexpr GroupFiles kVersion1 = {
    "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
    "total_inactive_file"};
static constexpr GroupFiles kVersion2 = {"sys/fs/cgroup", "memory.max",
                                         "memory.current", "inactive_file"};

/// The contents of a file; empty if it cannot be read.
static std::string readText(const llvm::Twine &name) {
  auto file = llvm::MemoryBuffer::getFileAsStream(name);
  return file ? (*file)->getBuffer().str() : std::string();
}

/// The number that `text` starts with.
static std::optional<double> parseNumber(StringRef text) {
  uint64_t number;
  if (text.consumeInteger(10, number))
    return std::nullopt;
  return static_cast<double>(number);
}

/// The number after `key` at the start of a line.
static std::optional<double> findNumber(StringRef text, StringRef key) {
  for (StringRef line : llvm::split(text, '\n'))
    if (line.consume_front(key))
      return parseNumber(line.ltrim());
  return std::nullopt;
}

/// What the group in `directory` has left; the limit may be the word "max".
static double getBytesLeft(StringRef directory, const GroupFiles &files) {
  auto read = [&](StringRef name) { return readText(directory + "/" + name); };
  std::optional<double> limit = parseNumber(read(files.limit));
  std::optional<double> usage = parseNumber(read(files.usage));
  if (!limit || !usage)
    return kUnlimited;
  std::string statistics = read("memory.stat");
  double reclaimable =
      findNumber(statistics, (files.reclaimable + " ").str()).value_or(0);
  return std::max(*limit - std::max(*usage - reclaimable, 0.0), 0.0);
}

/// The least that `group` and the groups above it have left. In a container the
/// name may be one that only the host knows; the container's own group is then
/// the top of the tree.
static double getBytesLeftAbove(StringRef root, const GroupFiles &files,
                                StringRef group) {
  SmallString<128> tree(root), directory;
  path::append(tree, files.tree);
  directory = tree;
  path::append(directory, path::relative_path(group));
  double least = getBytesLeft(tree, files);
  for (StringRef place = directory; place.size() > tree.size();
       place = path::parent_path(place))
    least = std::min(least, getBytesLeft(place, files));
  return least;
}

double chimera::runner::getAvailableBytes(StringRef root) {
  SmallString<128> machine(root), process(root);
  path::append(machine, "proc", "meminfo");
  path::append(process, "proc", "self", "cgroup");
  double available = kUnlimited;
  if (std::optional<double> kibibytes =
          findNumber(readText(machine), "MemAvailable:"))
    available = 1024 * *kibibytes;
  // Lines such as `0::/user.slice` and `4:cpu,memory:/docker/1f00`.
  std::string groups = readText(process);
  for (StringRef line : llvm::split(groups, '\n')) {
    auto [controllers, group] = line.split(':').second.split(':');
    if (group.empty())
      continue;
    if (controllers.empty())
      available =
          std::min(available, getBytesLeftAbove(root, kVersion2, group));
    else if (llvm::is_contained(llvm::split(controllers, ','), "memory"))
      available =
          std::min(available, getBytesLeftAbove(root, kVersion1, group));
  }
  return available;
}
