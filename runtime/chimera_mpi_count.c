/*===- chimera_mpi_count.c - Counts what MPI moves ------------------------===*\
|*
|* Part of the Chimera project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* MPI's profiling interface lets a program stand between a caller and MPI.
Linked
|* beside chimera_mpi.c, or preloaded, this counts the bytes of collectives as
MPI
|* is told them, and so checks both the compiler's prediction and the transport.
|*
\*===----------------------------------------------------------------------===*/

#include "chimera_collectives.h"

#include <mpi.h>

enum { num_kinds = CHIMERA_BROADCAST + 1 };
static struct {
  int64_t calls, bytes;
} counted[num_kinds];

static void count_call(int kind, int64_t count, MPI_Datatype type) {
  int size = 0;
  MPI_Type_size(type, &size);
  ++counted[kind].calls;
  counted[kind].bytes += count * size;
}

static int get_size(MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

void chimera_mpi_counted(int32_t kind, int64_t *calls, int64_t *bytes) {
  *calls = counted[kind].calls;
  *bytes = counted[kind].bytes;
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type,
                  MPI_Op operation, MPI_Comm communicator) {
  count_call(CHIMERA_ALL_REDUCE, count, type);
  return PMPI_Allreduce(in, out, count, type, operation, communicator);
}

int MPI_Iallreduce(const void *in, void *out, int count, MPI_Datatype type,
                   MPI_Op operation, MPI_Comm communicator,
                   MPI_Request *request) {
  count_call(CHIMERA_ALL_REDUCE, count, type);
  return PMPI_Iallreduce(in, out, count, type, operation, communicator,
                         request);
}

int MPI_Allgather(const void *in, int in_count, MPI_Datatype in_type, void *out,
                  int out_count, MPI_Datatype out_type, MPI_Comm communicator) {
  count_call(CHIMERA_ALL_GATHER, out_count, out_type);
  return PMPI_Allgather(in, in_count, in_type, out, out_count, out_type,
                        communicator);
}

int MPI_Reduce_scatter_block(const void *in, void *out, int count,
                             MPI_Datatype type, MPI_Op operation,
                             MPI_Comm communicator) {
  count_call(CHIMERA_REDUCE_SCATTER, (int64_t)count * get_size(communicator),
             type);
  return PMPI_Reduce_scatter_block(in, out, count, type, operation,
                                   communicator);
}

/* Large reductions that are dealt out are made one process after another. */
int MPI_Reduce(const void *in, void *out, int count, MPI_Datatype type,
               MPI_Op operation, int root, MPI_Comm communicator) {
  count_call(CHIMERA_REDUCE_SCATTER, count, type);
  return PMPI_Reduce(in, out, count, type, operation, root, communicator);
}

int MPI_Alltoall(const void *in, int in_count, MPI_Datatype in_type, void *out,
                 int out_count, MPI_Datatype out_type, MPI_Comm communicator) {
  count_call(CHIMERA_ALL_TO_ALL, (int64_t)out_count * get_size(communicator),
             out_type);
  return PMPI_Alltoall(in, in_count, in_type, out, out_count, out_type,
                       communicator);
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root,
              MPI_Comm communicator) {
  count_call(CHIMERA_BROADCAST, count, type);
  return PMPI_Bcast(data, count, type, root, communicator);
}
