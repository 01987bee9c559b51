/*===- chimera_runtime.c - What compiled programs call
----------------------===*\
|*
|* Part of the Chimera project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Programs are compiled for LLVM's OpenMP runtime, of which they call five
|* functions (`__kmpc_*`). Here these are written over the one function that
|* starts a parallel region in GCC's and in LLVM's runtime, `GOMP_parallel`.
|*
\*===----------------------------------------------------------------------===*/

#define _GNU_SOURCE

#include "chimera_runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*===----------------------------------------------------------------------===*\
|* The host's threads
\*===----------------------------------------------------------------------===*/

typedef void (*region_body)(void *data);

/* The OpenMP runtime in use; without one `parallel` is null. */
static struct {
  char path[4096];
  void (*parallel)(region_body body, void *data, unsigned threads,
                   unsigned flags);
  int (*thread_num)(void);
  int (*num_threads)(void);
} pool;
static pthread_once_t pool_once = PTHREAD_ONCE_INIT;

/* Takes the OpenMP runtime in the library `path`. */
static bool take_pool(const char *path, int flags) {
  void *library = dlopen(path, RTLD_LAZY | flags);
  if (!library)
    return false;
  *(void **)&pool.parallel = dlsym(library, "GOMP_parallel");
  *(void **)&pool.thread_num = dlsym(library, "omp_get_thread_num");
  *(void **)&pool.num_threads = dlsym(library, "omp_get_num_threads");
  if (!pool.parallel || !pool.thread_num || !pool.num_threads) {
    pool.parallel = NULL;
    dlclose(library);
    return false;
  }
  snprintf(pool.path, sizeof pool.path, "%s", path);
  return true;
}

/* Takes a loaded library whose name starts with `data`, if it is a runtime. */
static int take_loaded(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  const char *slash = strrchr(info->dlpi_name, '/');
  const char *name = slash ? slash + 1 : info->dlpi_name;
  const char *wanted = data;
  return strncmp(name, wanted, strlen(wanted)) == 0 &&
         take_pool(info->dlpi_name, RTLD_NOLOAD);
}

static void find_pool(void) {
  static char loaded[][8] = {"libgomp", "libiomp", "libomp"};
  for (size_t i = 0; i < sizeof loaded / sizeof *loaded; ++i)
    if (dl_iterate_phdr(take_loaded, loaded[i]))
      return;
  if (!take_pool("libgomp.so.1", 0) && !take_pool("libomp.so.5", 0))
    strcpy(pool.path, "none");
}

const char *chimera_pool(void) {
  pthread_once(&pool_once, find_pool);
  return pool.path;
}

/*===----------------------------------------------------------------------===*\
|* Calls and parallel regions
\*===----------------------------------------------------------------------===*/

/* A call from outside: where a failed assertion returns to. */
struct call {
  jmp_buf failed;
  int threads;
  char *message;
  size_t size;
};

/* A parallel region as LLVM makes it: the numbers of the thread, and what the
   region reads. */
typedef void (*region_task)(int32_t *thread, int32_t *bound, void *argument);

/* The threads of a parallel region. */
struct team {
  region_task task;
  void *argument;
  /* The first assertion that failed in one of them; null if none did. */
  _Atomic(const char *) failure;
  /* How often all have met, how many are there, and how many have arrived at
     the next meeting: 32, 16 and 16 bits. */
  _Atomic uint64_t meeting;
};

static _Thread_local struct call *current_call;
static _Thread_local struct team *current_team;
static _Thread_local jmp_buf *thread_failed;
static _Thread_local int32_t thread_number;
static _Thread_local int32_t team_size = 1;

int chimera_call(chimera_entry entry, void **arguments, int threads,
                 char *message, size_t size) {
  struct call call = {.threads = threads, .message = message, .size = size};
  struct call *outer = current_call;
  current_call = &call;
  int result = setjmp(call.failed);
  if (result == 0)
    entry(arguments);
  current_call = outer;
  return result;
}

/* Leaves the call that this thread made. */
static void leave_call(const char *text) {
  struct call *call = current_call;
  if (call->size > 0)
    snprintf(call->message, call->size, "%s", text);
  longjmp(call->failed, 1);
}

void chimera_fail(const char *text) {
  if (thread_failed) {
    const char *none = NULL;
    atomic_compare_exchange_strong(&current_team->failure, &none, text);
    longjmp(*thread_failed, 1);
  }
  if (current_call)
    leave_call(text);
  fprintf(stderr, "%s\n", text);
  abort();
}

enum { arrived_bits = 16, there_bits = 16, met_bit = 32 };

static uint64_t count_arrived(uint64_t meeting) {
  return meeting & ((1u << arrived_bits) - 1);
}

static uint64_t count_there(uint64_t meeting) {
  return (meeting >> arrived_bits) & ((1u << there_bits) - 1);
}

/* What `meeting` becomes if `arrived` of `there` threads have arrived. */
static uint64_t set_counts(uint64_t meeting, uint64_t arrived, uint64_t there) {
  uint64_t met = meeting >> met_bit;
  if (arrived == there) {
    ++met;
    arrived = 0;
  }
  return met << met_bit | there << arrived_bits | arrived;
}

/* Waits for all threads of the team that have not failed. */
static void meet(struct team *team) {
  uint64_t before = atomic_load(&team->meeting), after;
  do
    after = set_counts(before, count_arrived(before) + 1, count_there(before));
  while (!atomic_compare_exchange_weak(&team->meeting, &before, after));
  uint64_t met = before >> met_bit;
  if (after >> met_bit != met)
    return;
  enum { spins = 2000 };
  for (int spin = 0; atomic_load(&team->meeting) >> met_bit == met; ++spin)
    if (spin >= spins)
      sched_yield();
}

/* A thread that failed is waited for no longer. */
static void leave_team(struct team *team) {
  uint64_t before = atomic_load(&team->meeting), after;
  do
    after = set_counts(before, count_arrived(before), count_there(before) - 1);
  while (!atomic_compare_exchange_weak(&team->meeting, &before, after));
}

/* Runs the task of the team `data` on this thread, which is `number`. */
static void run_task(struct team *team, int32_t number, int32_t size) {
  struct team *outer = current_team;
  jmp_buf *outer_failed = thread_failed;
  int32_t outer_number = thread_number, outer_size = team_size;
  jmp_buf failed;
  current_team = team;
  thread_failed = &failed;
  thread_number = number;
  team_size = size;
  int32_t bound = 0;
  if (setjmp(failed) == 0)
    team->task(&number, &bound, team->argument);
  else
    leave_team(team);
  current_team = outer;
  thread_failed = outer_failed;
  thread_number = outer_number;
  team_size = outer_size;
}

static void set_size(struct team *team, int32_t size) {
  uint64_t none = 0;
  atomic_compare_exchange_strong(&team->meeting, &none,
                                 (uint64_t)size << arrived_bits);
}

static void run_in_pool(void *data) {
  struct team *team = data;
  int32_t size = pool.num_threads();
  set_size(team, size);
  run_task(team, pool.thread_num(), size);
}

/*===----------------------------------------------------------------------===*\
|* What programs call
\*===----------------------------------------------------------------------===*/

void __kmpc_fork_call(void *location, int32_t count, region_task task, ...);
int32_t __kmpc_global_thread_num(void *location);
void __kmpc_barrier(void *location, int32_t thread);
void __kmpc_for_static_init_8u(void *location, int32_t thread, int32_t schedule,
                               int32_t *is_last, uint64_t *lower,
                               uint64_t *upper, int64_t *stride,
                               int64_t increment, int64_t chunk);
void __kmpc_for_static_fini(void *location, int32_t thread);

/* MLIR packs what a region reads in one structure, so a task has one argument
   or none. */
void __kmpc_fork_call(void *location, int32_t count, region_task task, ...) {
  (void)location;
  struct team team = {.task = task};
  if (count > 1)
    chimera_fail("chimera runtime: a parallel region has several arguments");
  if (count == 1) {
    va_list arguments;
    va_start(arguments, task);
    team.argument = va_arg(arguments, void *);
    va_end(arguments);
  }
  pthread_once(&pool_once, find_pool);
  int threads = current_call ? current_call->threads : 1;
  if (threads > 1 && pool.parallel && !current_team) {
    pool.parallel(run_in_pool, &team, (unsigned)threads, 0);
  } else {
    set_size(&team, 1);
    run_task(&team, 0, 1);
  }
  const char *failure = atomic_load(&team.failure);
  if (failure)
    chimera_fail(failure);
}

int32_t __kmpc_global_thread_num(void *location) {
  (void)location;
  return thread_number;
}

void __kmpc_barrier(void *location, int32_t thread) {
  (void)location;
  (void)thread;
  if (team_size > 1)
    meet(current_team);
}

/* The static schedule: neighbouring iterations, as many for each thread. The
   number of iterations may be none, by `*upper` being one less than
   `*lower`. */
void __kmpc_for_static_init_8u(void *location, int32_t thread, int32_t schedule,
                               int32_t *is_last, uint64_t *lower,
                               uint64_t *upper, int64_t *stride,
                               int64_t increment, int64_t chunk) {
  (void)location;
  (void)thread;
  (void)schedule;
  (void)chunk;
  uint64_t step = (uint64_t)increment, size = (uint64_t)team_size;
  uint64_t number = (uint64_t)thread_number;
  uint64_t trips = (*upper - *lower) / step + 1;
  if (*upper + step == *lower)
    trips = 0;
  *stride = (int64_t)(trips * step);
  uint64_t share = trips / size, rest = trips % size;
  uint64_t mine = share + (number < rest);
  uint64_t first = number * share + (number < rest ? number : rest);
  *is_last = mine > 0 && first + mine == trips;
  *lower += first * step;
  *upper = *lower + mine * step - step;
}

void __kmpc_for_static_fini(void *location, int32_t thread) {
  (void)location;
  (void)thread;
}

/*===----------------------------------------------------------------------===*\
|* Constants
\*===----------------------------------------------------------------------===*/

static _Thread_local struct {
  chimera_listener call;
  void *context;
} listener;

void chimera_on_constant_read(chimera_listener call, void *context) {
  listener.call = call;
  listener.context = context;
}

void chimera_constant_read(int64_t argument) {
  if (listener.call)
    listener.call(listener.context, argument);
}

/*===----------------------------------------------------------------------===*\
|* Copies
\*===----------------------------------------------------------------------===*/

/* MLIR's unranked memref, and the memref that it points to: two pointers and
   an offset, then sizes and strides. */
struct unranked {
  int64_t rank;
  struct {
    char *allocated, *aligned;
    int64_t offset;
    int64_t sizes_and_strides[];
  } *memref;
};

static void copy_rows(int64_t bytes, int64_t rank, const int64_t *sizes,
                      const char *source, const int64_t *source_strides,
                      char *target, const int64_t *target_strides) {
  if (rank == 0) {
    memcpy(target, source, (size_t)bytes);
    return;
  }
  if (rank == 1 && *source_strides == 1 && *target_strides == 1) {
    memcpy(target, source, (size_t)(*sizes * bytes));
    return;
  }
  for (int64_t i = 0; i < *sizes; ++i)
    copy_rows(bytes, rank - 1, sizes + 1, source + i * *source_strides * bytes,
              source_strides + 1, target + i * *target_strides * bytes,
              target_strides + 1);
}

void memrefCopy(int64_t element_bytes, void *source, void *target) {
  const struct unranked *from = source, *to = target;
  int64_t rank = from->rank;
  const int64_t *sizes = from->memref->sizes_and_strides;
  copy_rows(element_bytes, rank, sizes,
            from->memref->aligned + from->memref->offset * element_bytes,
            sizes + rank,
            to->memref->aligned + to->memref->offset * element_bytes,
            to->memref->sizes_and_strides + rank);
}
