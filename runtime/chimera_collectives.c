/*===- chimera_collectives.c - Programs of several processes --------------===*\
|*
|* Part of the Chimera project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Everything that does not depend on the transport: the grid, the groups of
|* processes along its axes, and errors.
|*
\*===----------------------------------------------------------------------===*/

#include "chimera_collectives.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `axes` has 32 bits, of which one is the sign. */
enum { max_axes = 31, message_bytes = 512 };

/* A group with the axes that it was made for. */
struct axes_group {
  chimera_group group;
  int32_t axes;
  struct axes_group *next;
};

/* A grid that a program was compiled for, with the groups used so far. */
struct grid {
  int32_t rank;
  int64_t sizes[max_axes];
  int64_t position[max_axes];
  struct axes_group *groups;
  struct grid *next;
};

static chimera_transport transport;
static bool joined;
static int64_t this_process, num_processes = 1;
static struct grid *grids, *current_grid;

/*===----------------------------------------------------------------------===*\
|* Errors
\*===----------------------------------------------------------------------===*/

void chimera_end_processes(const char *text) {
  fflush(stdout);
  fprintf(stderr, "chimera: error: %s\n", text);
  fflush(stderr);
  if (joined && transport.stop)
    transport.stop(transport.context);
  _exit(1);
}

/* Ends the processes for a reason that this one has. */
static _Noreturn void fail(const char *format, ...) {
  char text[2 * message_bytes];
  va_list arguments;
  va_start(arguments, format);
  int length = joined && num_processes > 1
                   ? snprintf(text, sizeof text,
                              "process %lld of %lld: ", (long long)this_process,
                              (long long)num_processes)
                   : 0;
  vsnprintf(text + length, sizeof text - (size_t)length, format, arguments);
  va_end(arguments);
  chimera_end_processes(text);
  _exit(1);
}

/* Ends the processes for a reason that all of them find by themselves: the
   first says so. */
static _Noreturn void fail_alike(const char *text) {
  enum { seconds_to_speak = 2 };
  if (this_process > 0) {
    if (transport.stop)
      sleep(seconds_to_speak);
    _exit(1);
  }
  chimera_end_processes(text);
  _exit(1);
}

static void *allocate(size_t count, size_t bytes) {
  void *memory = calloc(count, bytes);
  if (!memory)
    fail("out of memory");
  return memory;
}

/*===----------------------------------------------------------------------===*\
|* The transport
\*===----------------------------------------------------------------------===*/

void chimera_set_transport(const chimera_transport *chosen) {
  transport = *chosen;
  joined = false;
  this_process = 0;
  num_processes = 1;
  grids = current_grid = NULL;
}

/* Without a transport this process is alone. */
static void join(void) {
  if (joined || !transport.join)
    return;
  char message[message_bytes] = "";
  if (transport.join(transport.context, &this_process, &num_processes, message,
                     sizeof message) != 0)
    fail("the processes cannot be connected: %s", message);
  joined = true;
}

int64_t chimera_num_processes(void) {
  join();
  return num_processes;
}

int64_t chimera_process(void) {
  join();
  return this_process;
}

/*===----------------------------------------------------------------------===*\
|* The grid
\*===----------------------------------------------------------------------===*/

static bool is_grid(const struct grid *grid, int32_t rank,
                    const int64_t *sizes) {
  return grid->rank == rank &&
         memcmp(grid->sizes, sizes, (size_t)rank * sizeof *sizes) == 0;
}

/* "a grid of 2x4 processes" */
static void print_grid(int32_t rank, const int64_t *sizes, char *text,
                       size_t size) {
  size_t length = (size_t)snprintf(text, size, "a grid of ");
  for (int32_t axis = 0; axis < rank && length < size; ++axis)
    length += (size_t)snprintf(text + length, size - length, "%s%lld",
                               axis ? "x" : "", (long long)sizes[axis]);
  if (length < size)
    snprintf(text + length, size - length, " processes");
}

static void check_processes(int32_t rank, const int64_t *sizes) {
  char text[message_bytes], grid[message_bytes / 2];
  if (rank < 0 || rank > max_axes) {
    snprintf(text, sizeof text, "a grid has at most %d axes, not %d", max_axes,
             rank);
    fail_alike(text);
  }
  int64_t processes = 1;
  for (int32_t axis = 0; axis < rank; ++axis)
    if (__builtin_mul_overflow(processes, sizes[axis], &processes))
      processes = -1;
  if (processes == num_processes)
    return;
  print_grid(rank, sizes, grid, sizeof grid);
  snprintf(text, sizeof text,
           "the program was compiled for %s, and %lld %s there%s", grid,
           (long long)num_processes, num_processes == 1 ? "is" : "are",
           transport.join ? "" : ": no transport is loaded");
  fail_alike(text);
}

static struct grid *add_grid(int32_t rank, const int64_t *sizes) {
  check_processes(rank, sizes);
  struct grid *grid = allocate(1, sizeof *grid);
  grid->rank = rank;
  memcpy(grid->sizes, sizes, (size_t)rank * sizeof *sizes);
  int64_t rest = this_process;
  for (int32_t axis = rank; axis-- > 0;) {
    grid->position[axis] = rest % sizes[axis];
    rest /= sizes[axis];
  }
  grid->next = grids;
  return grids = grid;
}

void chimera_check_grid(int32_t rank, const int64_t *sizes) {
  if (current_grid && is_grid(current_grid, rank, sizes))
    return;
  join();
  struct grid *grid = grids;
  while (grid && !is_grid(grid, rank, sizes))
    grid = grid->next;
  current_grid = grid ? grid : add_grid(rank, sizes);
}

int64_t chimera_process_index(int32_t axis) {
  if (!current_grid || axis < 0 || axis >= current_grid->rank)
    fail("the grid has no axis %d", axis);
  return current_grid->position[axis];
}

/*===----------------------------------------------------------------------===*\
|* Groups
\*===----------------------------------------------------------------------===*/

/* True if `process` differs from this one in its position along `axes` only. */
static bool is_member(const struct grid *grid, int64_t process, int32_t axes) {
  for (int32_t axis = grid->rank; axis-- > 0;) {
    int64_t position = process % grid->sizes[axis];
    process /= grid->sizes[axis];
    if (!(axes >> axis & 1) && position != grid->position[axis])
      return false;
  }
  return true;
}

static chimera_group *add_group(struct grid *grid, int32_t axes) {
  struct axes_group *added = allocate(1, sizeof *added);
  int64_t *members = allocate((size_t)num_processes, sizeof *members);
  chimera_group *group = &added->group;
  for (int64_t process = 0; process < num_processes; ++process)
    if (is_member(grid, process, axes)) {
      if (process == this_process)
        group->position = group->size;
      members[group->size++] = process;
    }
  group->members = members;
  added->axes = axes;
  added->next = grid->groups;
  grid->groups = added;
  return group;
}

static chimera_group *find_group(int32_t axes) {
  if (!current_grid || axes < 0 || axes >> current_grid->rank != 0)
    fail("the grid does not have the axes of a collective, %#x", axes);
  for (struct axes_group *known = current_grid->groups; known;
       known = known->next)
    if (known->axes == axes)
      return &known->group;
  return add_group(current_grid, axes);
}

/*===----------------------------------------------------------------------===*\
|* Collectives
\*===----------------------------------------------------------------------===*/

static int64_t get_element_bytes(int32_t type) {
  static const int64_t bytes[] = {4, 8, 2, 2, 1, 4, 8};
  if (type < 0 || type >= (int32_t)(sizeof bytes / sizeof *bytes))
    fail("a collective has elements of unknown type %d", type);
  return bytes[type];
}

/* Completes and checks what a program has asked for. */
static void prepare(chimera_collective *collective, int32_t axes) {
  collective->element_bytes = get_element_bytes(collective->type);
  collective->group = find_group(axes);
  if (collective->count < 0)
    fail("a collective has %lld elements", (long long)collective->count);
  if (collective->operation < CHIMERA_SUM ||
      collective->operation > CHIMERA_MAXIMUM)
    fail("a collective has the unknown operation %d", collective->operation);
  if (collective->root < 0 || collective->root >= collective->group->size)
    fail("a broadcast comes from process %d of %lld", collective->root,
         (long long)collective->group->size);
}

/* True if nothing has to move between processes; then it is done. */
static bool run_alone(const chimera_collective *collective) {
  if (collective->count == 0)
    return true;
  if (collective->group->size > 1)
    return false;
  if (collective->in != collective->out)
    memcpy(collective->out, collective->in,
           (size_t)(collective->count * collective->element_bytes));
  return true;
}

static void run(chimera_collective *collective, int32_t axes) {
  prepare(collective, axes);
  if (run_alone(collective))
    return;
  char message[message_bytes] = "";
  if (transport.run(transport.context, collective, message, sizeof message) !=
      0)
    fail("%s", message);
}

void chimera_all_reduce(const void *in, void *out, int64_t count, int32_t type,
                        int32_t operation, int32_t axes) {
  chimera_collective collective = {.kind = CHIMERA_ALL_REDUCE,
                                   .type = type,
                                   .operation = operation,
                                   .count = count,
                                   .in = in,
                                   .out = out};
  run(&collective, axes);
}

void chimera_all_gather(const void *in, void *out, int64_t count, int32_t type,
                        int32_t axes) {
  chimera_collective collective = {.kind = CHIMERA_ALL_GATHER,
                                   .type = type,
                                   .count = count,
                                   .in = in,
                                   .out = out};
  run(&collective, axes);
}

void chimera_reduce_scatter(const void *in, void *out, int64_t count,
                            int32_t type, int32_t operation, int32_t axes) {
  chimera_collective collective = {.kind = CHIMERA_REDUCE_SCATTER,
                                   .type = type,
                                   .operation = operation,
                                   .count = count,
                                   .in = in,
                                   .out = out};
  run(&collective, axes);
}

void chimera_all_to_all(const void *in, void *out, int64_t count, int32_t type,
                        int32_t axes) {
  chimera_collective collective = {.kind = CHIMERA_ALL_TO_ALL,
                                   .type = type,
                                   .count = count,
                                   .in = in,
                                   .out = out};
  run(&collective, axes);
}

void chimera_broadcast(void *data, int64_t count, int32_t type, int32_t root,
                       int32_t axes) {
  chimera_collective collective = {.kind = CHIMERA_BROADCAST,
                                   .type = type,
                                   .root = root,
                                   .count = count,
                                   .in = data,
                                   .out = data};
  run(&collective, axes);
}

/* Null stands for what has been done already. */
void *chimera_start_all_reduce(const void *in, void *out, int64_t count,
                               int32_t type, int32_t operation, int32_t axes) {
  if (!transport.start) {
    chimera_all_reduce(in, out, count, type, operation, axes);
    return NULL;
  }
  chimera_collective collective = {.kind = CHIMERA_ALL_REDUCE,
                                   .type = type,
                                   .operation = operation,
                                   .count = count,
                                   .in = in,
                                   .out = out};
  prepare(&collective, axes);
  if (run_alone(&collective))
    return NULL;
  void *request = NULL;
  char message[message_bytes] = "";
  if (transport.start(transport.context, &collective, &request, message,
                      sizeof message) != 0)
    fail("%s", message);
  return request;
}

void chimera_wait(void *request) {
  char message[message_bytes] = "";
  if (request &&
      transport.wait(transport.context, request, message, sizeof message) != 0)
    fail("%s", message);
}
