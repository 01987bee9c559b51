/*===- chimera_collectives.h - Programs of several processes --------------===*\
|*
|* Part of the Chimera project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A program that was compiled for several processes runs alike in each of them
|* and calls the functions below where parts have to meet. How bytes get from
|* one process to another is the business of a transport: MPI, by chimera_mpi.c,
|* which the MPI's own compiler compiles, or whatever serves the callbacks of
|* `chimera_transport`.
|*
|* Processes stand on a grid. They are numbered in row-major order, the last
axis
|* fastest. A collective runs over some axes of the grid, among the processes
|* that differ in nothing else; parts of tensors are in order of their numbers.
|*
|* Functions that programs call return nothing. What goes wrong ends all
|* processes, with one line. They are called by one thread at a time.
|*
\*===----------------------------------------------------------------------===*/

#ifndef CHIMERA_COLLECTIVES_H
#define CHIMERA_COLLECTIVES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum chimera_element_type {
  CHIMERA_F32 = 0,
  CHIMERA_F64 = 1,
  CHIMERA_F16 = 2,
  CHIMERA_BF16 = 3,
  CHIMERA_I8 = 4,
  CHIMERA_I32 = 5,
  CHIMERA_I64 = 6
};

/* Sums and products of integers wrap around. The minimum and the maximum of
   floats are NaN where an operand is. Halves are added as f32, and each partial
   result is rounded. */
enum chimera_reduction {
  CHIMERA_SUM = 0,
  CHIMERA_PRODUCT = 1,
  CHIMERA_MINIMUM = 2,
  CHIMERA_MAXIMUM = 3
};

/*===----------------------------------------------------------------------===*\
|* What programs call
\*===----------------------------------------------------------------------===*/

/* Tensors are contiguous. `axes` has bit `i` set if the collective runs over
   axis `i` of the grid. */

/* The grid that the program was compiled for: `rank` numbers of processes.
   Called before any other function. */
void chimera_check_grid(int32_t rank, const int64_t *sizes);

/* Where this process stands along an axis. */
int64_t chimera_process_index(int32_t axis);

/* Reduces `count` elements over the processes; all get the result. `in` may be
   `out`. */
void chimera_all_reduce(const void *in, void *out, int64_t count, int32_t type,
                        int32_t operation, int32_t axes);

/* Puts the parts of all processes, `count` elements each, one after another. */
void chimera_all_gather(const void *in, void *out, int64_t count, int32_t type,
                        int32_t axes);

/* Reduces as many parts as there are processes, `count` elements each; each
   process gets the part of its position. */
void chimera_reduce_scatter(const void *in, void *out, int64_t count,
                            int32_t type, int32_t operation, int32_t axes);

/* Sends part `i`, `count` elements, to the process at position `i`, and puts
   what comes from that at the same place. `in` may be `out`. */
void chimera_all_to_all(const void *in, void *out, int64_t count, int32_t type,
                        int32_t axes);

/* Gives all processes what the one at position `root` has. */
void chimera_broadcast(void *data, int64_t count, int32_t type, int32_t root,
                       int32_t axes);

/* Starts what `chimera_all_reduce` does. Until `chimera_wait` has been called
   with what this returns, neither tensor may be touched. A transport that
   cannot do this has finished when it returns. Processes start and wait in the
   same order. */
void *chimera_start_all_reduce(const void *in, void *out, int64_t count,
                               int32_t type, int32_t operation, int32_t axes);
void chimera_wait(void *request);

/*===----------------------------------------------------------------------===*\
|* What hosts call
\*===----------------------------------------------------------------------===*/

/* Ends all processes, this one with status 1, after printing `text` in a line.
   Does not return. */
void chimera_end_processes(const char *text);

/* How many processes there are, and which of them this is. */
int64_t chimera_num_processes(void);
int64_t chimera_process(void);

/* How many collectives of a kind MPI has run in this process, and the bytes
   that this process has handed over in them: its part of an all-gather, else
   the whole tensor that is reduced, dealt out or broadcast. Defined by
   chimera_mpi_count.c.
 */
void chimera_mpi_counted(int32_t kind, int64_t *calls, int64_t *bytes);

/*===----------------------------------------------------------------------===*\
|* Transports
\*===----------------------------------------------------------------------===*/

/* Processes that a collective runs among. There is one structure for each set,
   which lives as long as the process. */
typedef struct chimera_group {
  int64_t size;
  /* Of this process in `members`. */
  int64_t position;
  /* The numbers of the processes, in ascending order. */
  const int64_t *members;
  /* For the transport to keep what belongs to the group; null at first. */
  void *communicator;
} chimera_group;

enum chimera_collective_kind {
  CHIMERA_ALL_REDUCE = 0,
  CHIMERA_ALL_GATHER = 1,
  CHIMERA_REDUCE_SCATTER = 2,
  CHIMERA_ALL_TO_ALL = 3,
  CHIMERA_BROADCAST = 4
};

/* A call of one of the functions above, with valid arguments, among at least
   two processes. */
typedef struct chimera_collective {
  int32_t kind;
  int32_t type;
  /* Of reductions. */
  int32_t operation;
  /* Of broadcasts: the position in the group. */
  int32_t root;
  int64_t count;
  int64_t element_bytes;
  const void *in;
  void *out;
  chimera_group *group;
} chimera_collective;

/* Callbacks return 0, or another number after writing a reason of at most
   `size` bytes, the zero at its end included, to `message`. */
typedef struct chimera_transport {
  /* Passed to all callbacks. */
  void *context;
  /* Connects to the other processes, once, before anything else. */
  int (*join)(void *context, int64_t *process, int64_t *processes,
              char *message, size_t size);
  int (*run)(void *context, const chimera_collective *collective, char *message,
             size_t size);
  /* Starts an all-reduce and waits for it; null if the transport cannot. The
     request is not null. */
  int (*start)(void *context, const chimera_collective *collective,
               void **request, char *message, size_t size);
  int (*wait)(void *context, void *request, char *message, size_t size);
  /* Ends the other processes; null if they notice that this one is gone. */
  void (*stop)(void *context);
} chimera_transport;

/* Says what moves bytes from now on; the structure is copied. chimera_mpi.c
   does this when it is loaded. */
void chimera_set_transport(const chimera_transport *transport);

#ifdef __cplusplus
}
#endif

#endif /* CHIMERA_COLLECTIVES_H */
