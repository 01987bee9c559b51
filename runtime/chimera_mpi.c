/*===- chimera_mpi.c - Collectives by MPI ---------------------------------===*\
|*
|* Part of the Chimera project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The transport of most clusters. MPI libraries differ in their binary
interface,
|* so this file is compiled by the compiler of the one that is used:
|*
|*   mpicc main.c program.o chimera_mpi.c -lchimera_collectives
|*
|* Compiled programs call nothing of MPI's and are the same for all.
|* If the host has not called MPI_Init, it is called with the first collective.
|* When the process exits, MPI_Finalize is called if the host has not.
|*
\*===----------------------------------------------------------------------===*/

#define _DEFAULT_SOURCE

#include "chimera_collectives.h"

#include <mpi.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* MPI counts elements by int. */
#ifndef CHIMERA_MPI_LARGEST_COUNT
#define CHIMERA_MPI_LARGEST_COUNT INT_MAX
#endif
static const int64_t largest_count = CHIMERA_MPI_LARGEST_COUNT;

/* Calls MPI; returns from the function if that fails, with MPI's words. */
#define TRY(call)                                                              \
  do {                                                                         \
    int code = (call);                                                         \
    if (code != MPI_SUCCESS)                                                   \
      return explain(code, #call, message, size);                              \
  } while (0)

static int explain(int code, const char *call, char *message, size_t size) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  snprintf(message, size, "%.*s: %s", (int)strcspn(call, "("), call, text);
  return 1;
}

/*===----------------------------------------------------------------------===*\
|* Halves
\*===----------------------------------------------------------------------===*/

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t to_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float widen_bf16(uint16_t half) {
  return from_bits((uint32_t)half << 16);
}

/* Rounds to nearest, ties to even. */
static uint16_t narrow_bf16(float value) {
  uint32_t bits = to_bits(value);
  if (value != value)
    return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The exponent of f16 is biased by 15, that of f32 by 127. A product with a
   power of two moves it and gets subnormal numbers right. */
static float widen_f16(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  uint32_t rest = (uint32_t)(half & 0x7fff) << 13;
  const uint32_t infinite = 0x1fu << 23;
  if (rest >= infinite)
    return from_bits(sign | rest | 0xffu << 23);
  return from_bits(sign | to_bits(from_bits(rest) * 0x1p112f));
}

/* Rounds to nearest, ties to even. */
static uint16_t narrow_f16(float value) {
  uint32_t bits = to_bits(value);
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  uint32_t rest = bits & 0x7fffffff;
  if (rest > 0xffu << 23)
    return sign | 0x7e00 | (uint16_t)(rest >> 13 & 0x3ff);
  /* From here on the nearest number would be 65536. */
  if (rest >= to_bits(65520.0f))
    return sign | 0x7c00;
  if (rest < to_bits(0x1p-14f))
    /* The sum's last bit is worth what that of a subnormal f16 is. */
    return sign | (uint16_t)(to_bits(from_bits(rest) + 0.5f) - to_bits(0.5f));
  rest += 0xfff + (rest >> 13 & 1);
  return sign | (uint16_t)((rest - (112u << 23)) >> 13);
}

static float same_f32(float value) { return value; }
static double same_f64(double value) { return value; }

/*===----------------------------------------------------------------------===*\
|* Reductions
\*===----------------------------------------------------------------------===*/

#define ADD(a, b) ((a) + (b))
#define MULTIPLY(a, b) ((a) * (b))
/* NaN if one of both is. */
#define SMALLER(a, b) ((a) != (a) || (a) < (b) ? (a) : (b))
#define LARGER(a, b) ((a) != (a) || (a) > (b) ? (a) : (b))

#define DEFINE_REDUCTION(name, storage, wide, widen, narrow, combine)          \
  static void name(void *in, void *inout, int *count, MPI_Datatype *type) {    \
    (void)type;                                                                \
    const storage *left = in;                                                  \
    storage *right = inout;                                                    \
    for (int i = 0; i < *count; ++i) {                                         \
      wide a = widen(left[i]), b = widen(right[i]);                            \
      right[i] = narrow(combine(a, b));                                        \
    }                                                                          \
  }

DEFINE_REDUCTION(min_f32, float, float, same_f32, same_f32, SMALLER)
DEFINE_REDUCTION(max_f32, float, float, same_f32, same_f32, LARGER)
DEFINE_REDUCTION(min_f64, double, double, same_f64, same_f64, SMALLER)
DEFINE_REDUCTION(max_f64, double, double, same_f64, same_f64, LARGER)
DEFINE_REDUCTION(add_f16, uint16_t, float, widen_f16, narrow_f16, ADD)
DEFINE_REDUCTION(multiply_f16, uint16_t, float, widen_f16, narrow_f16, MULTIPLY)
DEFINE_REDUCTION(min_f16, uint16_t, float, widen_f16, narrow_f16, SMALLER)
DEFINE_REDUCTION(max_f16, uint16_t, float, widen_f16, narrow_f16, LARGER)
DEFINE_REDUCTION(add_bf16, uint16_t, float, widen_bf16, narrow_bf16, ADD)
DEFINE_REDUCTION(multiply_bf16, uint16_t, float, widen_bf16, narrow_bf16,
                 MULTIPLY)
DEFINE_REDUCTION(min_bf16, uint16_t, float, widen_bf16, narrow_bf16, SMALLER)
DEFINE_REDUCTION(max_bf16, uint16_t, float, widen_bf16, narrow_bf16, LARGER)

enum { num_types = CHIMERA_I64 + 1, num_reductions = CHIMERA_MAXIMUM + 1 };

/* Null where MPI has the reduction. Its own minimum and maximum may drop NaN.
 */
static MPI_User_function *const own_reductions[num_types][num_reductions] = {
    [CHIMERA_F32] = {NULL, NULL, min_f32, max_f32},
    [CHIMERA_F64] = {NULL, NULL, min_f64, max_f64},
    [CHIMERA_F16] = {add_f16, multiply_f16, min_f16, max_f16},
    [CHIMERA_BF16] = {add_bf16, multiply_bf16, min_bf16, max_bf16}};

/* Those of them that have been used. */
static MPI_Op made_operations[num_types][num_reductions];
static char is_made[num_types][num_reductions];

static int get_operation(int32_t type, int32_t reduction, MPI_Op *operation,
                         char *message, size_t size) {
  MPI_User_function *own = own_reductions[type][reduction];
  if (!own) {
    const MPI_Op known[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
    *operation = known[reduction];
    return 0;
  }
  if (!is_made[type][reduction])
    TRY(MPI_Op_create(own, /*commute=*/1, &made_operations[type][reduction]));
  is_made[type][reduction] = 1;
  *operation = made_operations[type][reduction];
  return 0;
}

/* Halves are numbers that MPI does not know. */
static MPI_Datatype get_type(int32_t type) {
  const MPI_Datatype types[num_types] = {
      [CHIMERA_F32] = MPI_FLOAT,    [CHIMERA_F64] = MPI_DOUBLE,
      [CHIMERA_F16] = MPI_UINT16_T, [CHIMERA_BF16] = MPI_UINT16_T,
      [CHIMERA_I8] = MPI_INT8_T,    [CHIMERA_I32] = MPI_INT32_T,
      [CHIMERA_I64] = MPI_INT64_T};
  return types[type];
}

/*===----------------------------------------------------------------------===*\
|* Processes
\*===----------------------------------------------------------------------===*/

/* Outside of all groups: errors of MPI_COMM_WORLD are the host's to handle. */
static MPI_Comm world;

/* MPICH's mpirun drops what it has not read yet of a process that aborts, which
   may be the line that says why. */
static void stop(void *context) {
  enum { nanoseconds_to_read = 500000000 };
  (void)context;
  nanosleep(&(struct timespec){.tv_nsec = nanoseconds_to_read}, NULL);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* How many collectives this process has begun, where others can read it: all
   processes run the same ones. */
static int64_t *begun;
static MPI_Win window;

/* Among processes that are about to leave. */
static MPI_Comm leaving;

static int begin(char *message, size_t size) {
  ++*begun;
  TRY(MPI_Win_sync(window));
  return 0;
}

static int read_begun(int process, int64_t *count, char *message, size_t size) {
  TRY(MPI_Get(count, 1, MPI_INT64_T, process, 0, 1, MPI_INT64_T, window));
  TRY(MPI_Win_flush(process, window));
  return 0;
}

/* Returns when all processes are about to leave; fails if one of them has begun
   a collective that this one will never take part in. Looks at one process at a
   time: reading may take until that process calls MPI. */
static int wait_for_others(char *message, size_t size) {
  enum { nanoseconds_between = 10000000 };
  int self, processes, are_all_here = 0;
  int64_t others = 0;
  MPI_Request request;
  TRY(MPI_Comm_rank(leaving, &self));
  TRY(MPI_Comm_size(leaving, &processes));
  TRY(MPI_Ibarrier(leaving, &request));
  for (int process = self;;) {
    TRY(MPI_Test(&request, &are_all_here, MPI_STATUS_IGNORE));
    if (are_all_here)
      return 0;
    nanosleep(&(struct timespec){.tv_nsec = nanoseconds_between}, NULL);
    process = (process + 1) % processes;
    if (read_begun(process, &others, message, size))
      return 1;
    if (others > *begun) {
      snprintf(message, size,
               "process %d of %d has left, and process %d waits for it", self,
               processes, process);
      return 1;
    }
  }
}

static int leave(char *message, size_t size) {
  if (wait_for_others(message, size))
    return 1;
  TRY(MPI_Win_unlock_all(window));
  TRY(MPI_Win_free(&window));
  TRY(MPI_Comm_free(&leaving));
  return 0;
}

/* Called first thing by MPI_Finalize, whoever calls that. */
static int leave_at_finalize(MPI_Comm communicator, int key, void *value,
                             void *state) {
  (void)communicator, (void)key, (void)value, (void)state;
  char message[MPI_MAX_ERROR_STRING + 64] = "";
  if (leave(message, sizeof message))
    chimera_end_processes(message);
  return MPI_SUCCESS;
}

/* At the end of the process. One that has failed ends the others, which would
   wait for it, and says so: MPICH's own line about that is often lost. */
static void finish(int status, void *unused) {
  (void)unused;
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  if (is_finalized)
    return;
  if (status != 0) {
    int rank = 0, count = 1;
    char message[64];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    snprintf(message, sizeof message,
             "process %d of %d has ended with status %d", rank, count, status);
    chimera_end_processes(message);
  }
  MPI_Finalize();
}

/* The C library may not tell the status. */
#ifndef __GLIBC__
static void finish_well(void) { finish(0, NULL); }
#define on_exit(function, argument) atexit(finish_well)
#endif

/* Makes what leaving takes. */
static int prepare_leaving(char *message, size_t size) {
  int key;
  TRY(MPI_Comm_dup(world, &leaving));
  TRY(MPI_Win_allocate(sizeof *begun, sizeof *begun, MPI_INFO_NULL, world,
                       &begun, &window));
  TRY(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN));
  *begun = 0;
  TRY(MPI_Win_lock_all(MPI_MODE_NOCHECK, window));
  TRY(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave_at_finalize, &key,
                             NULL));
  TRY(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
  TRY(MPI_Comm_free_keyval(&key));
  /* Nobody reads what is not set yet. */
  TRY(MPI_Barrier(world));
  return 0;
}

static int join(void *context, int64_t *process, int64_t *processes,
                char *message, size_t size) {
  (void)context;
  int is_initialized = 0, is_finalized = 0, level, rank, count;
  MPI_Finalized(&is_finalized);
  if (is_finalized) {
    snprintf(message, size, "MPI_Finalize has been called");
    return 1;
  }
  MPI_Initialized(&is_initialized);
  if (!is_initialized)
    TRY(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level));
  on_exit(finish, NULL);
  TRY(MPI_Comm_dup(MPI_COMM_WORLD, &world));
  TRY(MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN));
  TRY(MPI_Comm_rank(world, &rank));
  TRY(MPI_Comm_size(world, &count));
  *process = rank;
  *processes = count;
  return prepare_leaving(message, size);
}

/* The communicator of a group, made when the group is first used. */
static int get_communicator(chimera_group *group, MPI_Comm *communicator,
                            char *message, size_t size) {
  if (group->communicator) {
    *communicator = *(MPI_Comm *)group->communicator;
    return 0;
  }
  MPI_Comm *made = malloc(sizeof *made);
  int *ranks = malloc((size_t)group->size * sizeof *ranks);
  if (!made || !ranks) {
    snprintf(message, size, "out of memory");
    return 1;
  }
  for (int64_t i = 0; i < group->size; ++i)
    ranks[i] = (int)group->members[i];
  MPI_Group all, members;
  TRY(MPI_Comm_group(world, &all));
  TRY(MPI_Group_incl(all, (int)group->size, ranks, &members));
  TRY(MPI_Comm_create_group(world, members, /*tag=*/0, made));
  TRY(MPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN));
  MPI_Group_free(&members);
  MPI_Group_free(&all);
  free(ranks);
  group->communicator = made;
  *communicator = *made;
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* Collectives
\*===----------------------------------------------------------------------===*/

/* A part of a tensor, in the terms of MPI. */
struct block {
  MPI_Datatype type;
  int count;
  char is_made;
};

/* Makes one element of parts that have too many. */
static int make_block(const chimera_collective *what, struct block *block,
                      char *message, size_t size) {
  MPI_Datatype type = get_type(what->type);
  *block = (struct block){type, (int)what->count, 0};
  if (what->count <= largest_count)
    return 0;
  MPI_Datatype most, full;
  int64_t blocks = what->count / largest_count;
  int64_t rest = what->count % largest_count;
  TRY(MPI_Type_contiguous((int)largest_count, type, &most));
  TRY(MPI_Type_contiguous((int)blocks, most, &full));
  int lengths[] = {1, (int)rest};
  MPI_Aint places[] = {0,
                       (MPI_Aint)((what->count - rest) * what->element_bytes)};
  MPI_Datatype types[] = {full, type};
  TRY(MPI_Type_create_struct(2, lengths, places, types, &block->type));
  TRY(MPI_Type_commit(&block->type));
  TRY(MPI_Type_free(&full));
  TRY(MPI_Type_free(&most));
  block->count = 1;
  block->is_made = 1;
  return 0;
}

/* Calls all_gather, all_to_all or broadcast. */
static int move(const chimera_collective *what, MPI_Comm communicator,
                char *message, size_t size) {
  struct block block;
  if (make_block(what, &block, message, size))
    return 1;
  const void *in = what->in == what->out ? MPI_IN_PLACE : what->in;
  if (what->kind == CHIMERA_ALL_GATHER)
    TRY(MPI_Allgather(in, block.count, block.type, what->out, block.count,
                      block.type, communicator));
  else if (what->kind == CHIMERA_ALL_TO_ALL)
    TRY(MPI_Alltoall(in, block.count, block.type, what->out, block.count,
                     block.type, communicator));
  else
    TRY(MPI_Bcast(what->out, block.count, block.type, what->root,
                  communicator));
  if (block.is_made)
    TRY(MPI_Type_free(&block.type));
  return 0;
}

static int all_reduce(const chimera_collective *what, MPI_Op operation,
                      MPI_Comm communicator, char *message, size_t size) {
  MPI_Datatype type = get_type(what->type);
  for (int64_t done = 0; done < what->count; done += largest_count) {
    int64_t left = what->count - done;
    int count = (int)(left < largest_count ? left : largest_count);
    char *out = (char *)what->out + done * what->element_bytes;
    const char *in = (const char *)what->in + done * what->element_bytes;
    TRY(MPI_Allreduce(what->in == what->out ? MPI_IN_PLACE : in, out, count,
                      type, operation, communicator));
  }
  return 0;
}

/* Parts that MPI cannot count are reduced one after another. */
static int reduce_scatter(const chimera_collective *what, MPI_Op operation,
                          MPI_Comm communicator, char *message, size_t size) {
  MPI_Datatype type = get_type(what->type);
  if (what->count <= largest_count) {
    TRY(MPI_Reduce_scatter_block(what->in, what->out, (int)what->count, type,
                                 operation, communicator));
    return 0;
  }
  for (int64_t root = 0; root < what->group->size; ++root)
    for (int64_t done = 0; done < what->count; done += largest_count) {
      int64_t left = what->count - done;
      int count = (int)(left < largest_count ? left : largest_count);
      const char *in = (const char *)what->in +
                       (root * what->count + done) * what->element_bytes;
      char *out = (char *)what->out + done * what->element_bytes;
      TRY(MPI_Reduce(in, out, count, type, operation, (int)root, communicator));
    }
  return 0;
}

static int run(void *context, const chimera_collective *what, char *message,
               size_t size) {
  (void)context;
  MPI_Comm communicator;
  MPI_Op operation;
  if (begin(message, size) ||
      get_communicator(what->group, &communicator, message, size))
    return 1;
  if (what->kind != CHIMERA_ALL_REDUCE && what->kind != CHIMERA_REDUCE_SCATTER)
    return move(what, communicator, message, size);
  if (get_operation(what->type, what->operation, &operation, message, size))
    return 1;
  if (what->kind == CHIMERA_ALL_REDUCE)
    return all_reduce(what, operation, communicator, message, size);
  return reduce_scatter(what, operation, communicator, message, size);
}

/* A started all-reduce: of each piece that MPI can count, a request. */
struct started {
  int count;
  MPI_Request pieces[];
};

static int start(void *context, const chimera_collective *what, void **request,
                 char *message, size_t size) {
  (void)context;
  MPI_Comm communicator;
  MPI_Op operation;
  if (begin(message, size) ||
      get_communicator(what->group, &communicator, message, size) ||
      get_operation(what->type, what->operation, &operation, message, size))
    return 1;
  int64_t pieces = (what->count + largest_count - 1) / largest_count;
  struct started *started =
      malloc(sizeof *started + (size_t)pieces * sizeof *started->pieces);
  if (!started) {
    snprintf(message, size, "out of memory");
    return 1;
  }
  started->count = (int)pieces;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    int64_t done = piece * largest_count, left = what->count - done;
    int count = (int)(left < largest_count ? left : largest_count);
    char *out = (char *)what->out + done * what->element_bytes;
    const char *in = (const char *)what->in + done * what->element_bytes;
    TRY(MPI_Iallreduce(what->in == what->out ? MPI_IN_PLACE : in, out, count,
                       get_type(what->type), operation, communicator,
                       &started->pieces[piece]));
  }
  *request = started;
  return 0;
}

static int wait(void *context, void *request, char *message, size_t size) {
  (void)context;
  struct started *started = request;
  for (int piece = 0; piece < started->count; ++piece)
    TRY(MPI_Wait(&started->pieces[piece], MPI_STATUS_IGNORE));
  free(started);
  return 0;
}

__attribute__((constructor)) static void offer(void) {
  chimera_set_transport(&(chimera_transport){
      .join = join, .run = run, .start = start, .wait = wait, .stop = stop});
}
