//===- JobPool.cpp - Threads as far as there are any ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JobPool.h"

#include "llvm/ADT/STLExtras.h"

using namespace chimera::runner;

JobPool::~JobPool() {
  wait();
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  changed.notify_all();
  for (pthread_t thread : threads)
    pthread_join(thread, /*retval=*/nullptr);
}

void JobPool::asyncEnqueue(llvm::unique_function<void()> task,
                           llvm::ThreadPoolTaskGroup *group) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    waiting.push_back({std::move(task), group});
    ++left[nullptr];
    if (group)
      ++left[group];
    if (threads.size() + 1 < jobs)
      start();
  }
  changed.notify_all();
}

/// Starts one more thread, if the system has one.
void JobPool::start() {
  auto begin = [](void *pool) -> void * {
    static_cast<JobPool *>(pool)->work();
    return nullptr;
  };
  pthread_t thread;
  if (pthread_create(&thread, /*attr=*/nullptr, begin, this) == 0)
    threads.push_back(thread);
}

/// What each of the pool's own threads does.
void JobPool::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!isEnding)
    if (waiting.empty())
      changed.wait(lock);
    else
      runJob(waiting.begin(), lock);
}

void JobPool::runJob(std::deque<Job>::iterator job,
                     std::unique_lock<std::mutex> &lock) {
  Job own = std::move(*job);
  waiting.erase(job);
  lock.unlock();
  own.run();
  lock.lock();
  --left[nullptr];
  // Another group may have the address of one that is gone.
  if (own.group && --left[own.group] == 0)
    left.erase(own.group);
  changed.notify_all();
}

void JobPool::waitFor(llvm::ThreadPoolTaskGroup *group) {
  std::unique_lock<std::mutex> lock(mutex);
  while (left.lookup(group) > 0) {
    auto own = llvm::find_if(waiting, [group](const Job &job) {
      return !group || job.group == group;
    });
    if (own == waiting.end())
      changed.wait(lock);
    else
      runJob(own, lock);
  }
}

void JobPool::wait() { waitFor(/*group=*/nullptr); }

void JobPool::wait(llvm::ThreadPoolTaskGroup &group) { waitFor(&group); }
