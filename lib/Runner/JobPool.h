//===- JobPool.h - Threads as far as there are any --------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's thread pools end the process where the system has no thread left. A
// compilation can do without: whoever waits for tasks runs those that nobody
// has begun.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_JOBPOOL_H
#define CHIMERA_RUNNER_JOBPOOL_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/ThreadPool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <vector>

namespace chimera::runner {

/// Runs tasks on `jobs` threads: those that wait, and up to `jobs` - 1 others,
/// which start when there is something to do.
class JobPool : public llvm::ThreadPoolInterface {
public:
  explicit JobPool(unsigned jobs) : jobs(jobs) {}
  ~JobPool() override;

  void wait() override;
  void wait(llvm::ThreadPoolTaskGroup &group) override;
  unsigned getMaxConcurrency() const override { return jobs; }

private:
  struct Job {
    llvm::unique_function<void()> run;
    llvm::ThreadPoolTaskGroup *group;
  };

  void asyncEnqueue(llvm::unique_function<void()> task,
                    llvm::ThreadPoolTaskGroup *group) override;
  void start();
  void work();
  void waitFor(llvm::ThreadPoolTaskGroup *group);
  void runJob(std::deque<Job>::iterator job,
              std::unique_lock<std::mutex> &lock);

  unsigned jobs;
  std::vector<pthread_t> threads;
  std::mutex mutex;
  /// Notified when a job comes, when one is done, and at the end.
  std::condition_variable changed;
  std::deque<Job> waiting;
  /// Jobs of each group, and of all (null), that are not done.
  llvm::DenseMap<llvm::ThreadPoolTaskGroup *, size_t> left;
  bool isEnding = false;
};

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_JOBPOOL_H
