/*===- network.c - A network between processes of one machine -------------===*\
|*
|* Part of the Chimera project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Lets all-reduces take as long as on a network of a latency and a rate that
|* moves bytes by itself, one exchange after the other. The processes exchange
|* through memory as ever, which takes the processor, and wait for the rest:
|* those that were started, not before they are waited for. `overlap` links it
|* beside the transport, with the calls below wrapped.
|*
\*===----------------------------------------------------------------------===*/

#define _GNU_SOURCE

#include <mpi.h>

#include <stdlib.h>
#include <time.h>

/* What measuring itself exchanges is smaller, and not delayed. */
enum { smallest_bytes = 4096, most_started = 64 };

static struct {
  MPI_Request request;
  double end;
} started[most_started];
static int num_started;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double get_figure(const char *variable) {
  const char *text = getenv(variable);
  return text ? atof(text) : 0;
}

/* When an exchange that is handed over now will be there. */
static double hand_over(int count, MPI_Datatype type) {
  static double free_at;
  int size = 0;
  MPI_Type_size(type, &size);
  double bytes = (double)count * size, begin = now();
  if (bytes < smallest_bytes)
    return begin;
  if (free_at > begin)
    begin = free_at;
  return free_at = begin + 1e-6 * get_figure("NETWORK_LATENCY_US") +
                   bytes / (1e6 * get_figure("NETWORK_BYTES_PER_US"));
}

static void wait_until(double end) {
  while (now() < end)
    ;
}

int __real_PMPI_Allreduce(const void *, void *, int, MPI_Datatype, MPI_Op,
                          MPI_Comm);
int __wrap_PMPI_Allreduce(const void *in, void *out, int count,
                          MPI_Datatype type, MPI_Op operation,
                          MPI_Comm communicator) {
  double end = hand_over(count, type);
  int code =
      __real_PMPI_Allreduce(in, out, count, type, operation, communicator);
  wait_until(end);
  return code;
}

int __real_PMPI_Iallreduce(const void *, void *, int, MPI_Datatype, MPI_Op,
                           MPI_Comm, MPI_Request *);
int __wrap_PMPI_Iallreduce(const void *in, void *out, int count,
                           MPI_Datatype type, MPI_Op operation,
                           MPI_Comm communicator, MPI_Request *request) {
  double end = hand_over(count, type);
  int code = __real_PMPI_Iallreduce(in, out, count, type, operation,
                                    communicator, request);
  if (num_started == most_started)
    abort();
  started[num_started].request = *request;
  started[num_started++].end = end;
  return code;
}

int __real_MPI_Wait(MPI_Request *, MPI_Status *);
int __wrap_MPI_Wait(MPI_Request *request, MPI_Status *status) {
  double end = 0;
  for (int i = 0; i < num_started; ++i)
    if (started[i].request == *request) {
      end = started[i].end;
      started[i] = started[--num_started];
      break;
    }
  int code = __real_MPI_Wait(request, status);
  wait_until(end);
  return code;
}
