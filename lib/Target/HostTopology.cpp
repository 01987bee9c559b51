//===- HostTopology.cpp - Cores and caches as Linux reports them ----------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostTopology.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>
#include <optional>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

using namespace chimera;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

/// The contents of a file of one line; empty if it cannot be read.
static std::string readLine(const Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().trim().str() : std::string();
}

/// The numbers of a list such as `0-3,8`; empty if it is none.
static SmallVector<unsigned> parseList(StringRef text) {
  SmallVector<unsigned> numbers;
  for (StringRef range : llvm::split(text, ',')) {
    auto [from, to] = range.split('-');
    unsigned first, last;
    if (from.getAsInteger(10, first))
      return {};
    if (to.empty())
      last = first;
    else if (to.getAsInteger(10, last))
      return {};
    for (unsigned number = first; number < last; ++number)
      numbers.push_back(number);
    numbers.push_back(last);
  }
  return numbers;
}

namespace {
class TopologyReader {
public:
  TopologyReader(StringRef directory, ArrayRef<unsigned> usable)
      : directory(directory), usable(usable) {}

  HostTopology read();

private:
  void readCores();
  void readCaches(unsigned thread, HostTopology &topology);
  std::optional<HostTopology::Cache> readCache(const Twine &path);
  int64_t countCores(ArrayRef<unsigned> threads);

  StringRef directory;
  ArrayRef<unsigned> usable;
  /// Of each usable thread its core, named after the core's first thread.
  std::map<unsigned, unsigned> coreOf;
};
} // namespace

void TopologyReader::readCores() {
  for (unsigned thread : usable) {
    std::string path =
        (directory + "/cpu" + Twine(thread) + "/topology/").str();
    std::string list = readLine(path + "core_cpus_list");
    // Its name before Linux 5.3.
    if (list.empty())
      list = readLine(path + "thread_siblings_list");
    SmallVector<unsigned> threads = parseList(list);
    // A thread of which nothing is known is a core of its own.
    threads.push_back(thread);
    coreOf[thread] = *llvm::min_element(threads);
  }
}

/// The cores that the usable ones of `threads` belong to.
int64_t TopologyReader::countCores(ArrayRef<unsigned> threads) {
  llvm::SmallSet<unsigned, 16> cores;
  for (unsigned thread : threads)
    if (auto core = coreOf.find(thread); core != coreOf.end())
      cores.insert(core->second);
  return static_cast<int64_t>(cores.size());
}

/// The cache described at `path`, unless it holds instructions alone or its
/// size is not given.
std::optional<HostTopology::Cache>
TopologyReader::readCache(const Twine &path) {
  auto read = [prefix = path.str()](StringRef file) {
    return readLine(prefix + "/" + file);
  };
  auto toNumber = [](StringRef text) {
    int64_t number;
    return text.getAsInteger(10, number) ? 0 : number;
  };
  HostTopology::Cache cache;
  cache.level = toNumber(read("level"));
  cache.capacity = 1024 * toNumber(StringRef(read("size")).rtrim('K'));
  cache.ways = toNumber(read("ways_of_associativity"));
  cache.sharers =
      std::max<int64_t>(1, countCores(parseList(read("shared_cpu_list"))));
  if (read("type") == "Instruction" || cache.level <= 0 || cache.capacity <= 0)
    return std::nullopt;
  return cache;
}

/// Keeps the caches of `thread` that leave a core less than those before.
void TopologyReader::readCaches(unsigned thread, HostTopology &topology) {
  for (unsigned index = 0;; ++index) {
    std::string path =
        (directory + "/cpu" + Twine(thread) + "/cache/index" + Twine(index))
            .str();
    if (readLine(path + "/type").empty())
      return;
    std::optional<HostTopology::Cache> cache = readCache(path);
    if (!cache)
      continue;
    auto known = llvm::find_if(topology.caches, [&](const auto &other) {
      return other.level == cache->level;
    });
    if (known == topology.caches.end())
      topology.caches.push_back(*cache);
    else if (cache->capacity / cache->sharers <
             known->capacity / known->sharers)
      *known = *cache;
  }
}

HostTopology TopologyReader::read() {
  readCores();
  HostTopology topology;
  topology.cores = countCores(usable);
  for (unsigned thread : usable)
    readCaches(thread, topology);
  return topology;
}

const HostTopology::Cache *HostTopology::find(int64_t level) const {
  const Cache *cache =
      llvm::find_if(caches, [&](const Cache &c) { return c.level == level; });
  return cache == caches.end() ? nullptr : cache;
}

HostTopology chimera::readHostTopology(StringRef directory,
                                       ArrayRef<unsigned> usable) {
  return TopologyReader(directory, usable).read();
}

SmallVector<unsigned> chimera::getUsableThreads() {
  SmallVector<unsigned> threads;
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    for (unsigned thread = 0; thread < CPU_SETSIZE; ++thread)
      if (CPU_ISSET(thread, &set))
        threads.push_back(thread);
#endif
  if (threads.empty())
    for (unsigned thread = 0; thread < std::thread::hardware_concurrency();
         ++thread)
      threads.push_back(thread);
  return threads;
}
