/* Runs every collective for every type, operation and set of axes of a grid, in
   pieces of several sizes, and compares with what follows from the numbers that
   each process is known to have. Knows nothing of MPI. */

#include "chimera_collectives.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 12, most_processes = 4 };
static const int64_t element_bytes[] = {4, 8, 2, 2, 1, 4, 8};

static int64_t grid[2];

/* Small integers are exact in all types, and so are their products here. */
static double value(int64_t process, int64_t i) {
  return (double)((process * 5 + i * 3) % 4 + 1);
}

static uint16_t half(double value, int type) {
  float single = (float)value;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  if (type == CHIMERA_BF16)
    return (uint16_t)(bits >> 16);
  if (value == 0)
    return 0;
  return (uint16_t)(((bits >> 23) - 112) << 10 | (bits >> 13 & 0x3ff));
}

static void put(void *tensor, int64_t i, double value, int type) {
  switch (type) {
  case CHIMERA_F32:
    ((float *)tensor)[i] = (float)value;
    break;
  case CHIMERA_F64:
    ((double *)tensor)[i] = value;
    break;
  case CHIMERA_F16:
  case CHIMERA_BF16:
    ((uint16_t *)tensor)[i] = half(value, type);
    break;
  case CHIMERA_I8:
    ((int8_t *)tensor)[i] = (int8_t)value;
    break;
  case CHIMERA_I32:
    ((int32_t *)tensor)[i] = (int32_t)value;
    break;
  default:
    ((int64_t *)tensor)[i] = (int64_t)value;
  }
}

static double combine(double a, double b, int operation) {
  return operation == CHIMERA_SUM       ? a + b
         : operation == CHIMERA_PRODUCT ? a * b
         : operation == CHIMERA_MINIMUM ? fmin(a, b)
                                        : fmax(a, b);
}

/* The processes of the group along `axes`, in order. */
static int64_t find_members(int axes, int64_t *members, int64_t *position) {
  int64_t self = chimera_process(), size = 0;
  for (int64_t process = 0; process < grid[0] * grid[1]; ++process) {
    int same0 = process / grid[1] == self / grid[1];
    int same1 = process % grid[1] == self % grid[1];
    if ((same0 || axes & 1) && (same1 || axes & 2)) {
      if (process == self)
        *position = size;
      members[size++] = process;
    }
  }
  return size;
}

static void expect(const void *got, const void *wanted, int64_t count, int type,
                   const char *what, int operation, int axes) {
  if (memcmp(got, wanted, (size_t)(count * element_bytes[type])) == 0)
    return;
  printf("%s of %lld elements of type %d by operation %d along %d is wrong\n",
         what, (long long)count, type, operation, axes);
  exit(1);
}

static void test_reductions(int type, int operation, int axes, int64_t count) {
  int64_t members[most_processes], position = 0;
  int64_t size = find_members(axes, members, &position);
  int64_t all = count * size;
  char in[most * most_processes * 8], out[sizeof in], wanted[sizeof in];
  for (int64_t i = 0; i < all; ++i) {
    double result = value(members[0], i);
    for (int64_t member = 1; member < size; ++member)
      result = combine(result, value(members[member], i), operation);
    put(in, i, value(chimera_process(), i), type);
    put(wanted, i, result, type);
  }
  chimera_all_reduce(in, out, all, type, operation, axes);
  expect(out, wanted, all, type, "all_reduce", operation, axes);
  void *request = chimera_start_all_reduce(in, out, all, type, operation, axes);
  chimera_wait(request);
  expect(out, wanted, all, type, "started all_reduce", operation, axes);
  memcpy(out, in, sizeof out);
  chimera_all_reduce(out, out, all, type, operation, axes);
  expect(out, wanted, all, type, "all_reduce in place", operation, axes);
  chimera_reduce_scatter(in, out, count, type, operation, axes);
  expect(out, wanted + position * count * element_bytes[type], count, type,
         "reduce_scatter", operation, axes);
}

static void test_moves(int type, int axes, int64_t count) {
  int64_t members[most_processes], position = 0;
  int64_t size = find_members(axes, members, &position);
  int64_t all = count * size;
  char in[most * most_processes * 8], out[sizeof in], wanted[sizeof in] = {0};
  for (int64_t i = 0; i < all; ++i)
    put(in, i, value(chimera_process(), i), type);
  for (int64_t i = 0; i < all; ++i)
    put(wanted, i, value(members[i / count], i % count), type);
  chimera_all_gather(in, out, count, type, axes);
  expect(out, wanted, all, type, "all_gather", 0, axes);
  for (int64_t i = 0; i < all; ++i)
    put(wanted, i, value(members[i / count], position * count + i % count),
        type);
  chimera_all_to_all(in, out, count, type, axes);
  expect(out, wanted, all, type, "all_to_all", 0, axes);
  memcpy(out, in, sizeof out);
  chimera_all_to_all(out, out, count, type, axes);
  expect(out, wanted, all, type, "all_to_all in place", 0, axes);
  for (int32_t root = 0; root < size; ++root) {
    for (int64_t i = 0; i < all; ++i)
      put(wanted, i, value(members[root], i), type);
    memcpy(out, in, sizeof out);
    chimera_broadcast(out, all, type, root, axes);
    expect(out, wanted, all, type, "broadcast", 0, axes);
  }
}

/* A NaN of one process is the minimum of all. */
static void test_nan(void) {
  float in[2] = {1, (float)chimera_process()}, out[2];
  if (chimera_process() == chimera_num_processes() - 1)
    in[0] = NAN;
  chimera_all_reduce(in, out, 2, CHIMERA_F32, CHIMERA_MINIMUM, 3);
  if (!isnan(out[0]) || out[1] != 0) {
    printf("the minimum of NaN is %f\n", (double)out[0]);
    exit(1);
  }
}

/* The bits of halves, rounded to nearest even: what a sum with 0 keeps, and
   2048 + 1, 2048 + 3, 65504 + 16 and two subnormal numbers. */
static void test_rounding(void) {
  uint16_t a[] = {0x6800, 0x6800, 0x7bff, 0x0001, 0x03ff, 0xfc00};
  uint16_t b[] = {0x3c00, 0x4200, 0x4c00, 0x0001, 0x0001, 0x3c00};
  uint16_t sums[] = {0x6800, 0x6802, 0x7c00, 0x0002, 0x0400, 0xfc00};
  enum { count = sizeof a / sizeof *a };
  uint16_t out[count], zero[count] = {0};
  const uint16_t *in = chimera_process() == 0   ? a
                       : chimera_process() == 1 ? b
                                                : zero;
  chimera_all_reduce(in, out, count, CHIMERA_F16, CHIMERA_SUM, 3);
  expect(out, sums, chimera_num_processes() > 1 ? count : 0, CHIMERA_F16,
         "rounded sum", 0, 3);
}

int main(int argc, char **argv) {
  int64_t processes = argc > 1 ? atoll(argv[1]) : chimera_num_processes();
  grid[1] = processes > 2 ? 2 : processes;
  grid[0] = processes / grid[1];
  chimera_check_grid(2, grid);
  if (chimera_process_index(0) != chimera_process() / grid[1] ||
      chimera_process_index(1) != chimera_process() % grid[1])
    return 1;
  for (int type = CHIMERA_F32; type <= CHIMERA_I64; ++type)
    for (int axes = 0; axes < 4; ++axes)
      for (int64_t count = 0; count <= most; count += most / 2) {
        for (int operation = CHIMERA_SUM; operation <= CHIMERA_MAXIMUM;
             ++operation)
          test_reductions(type, operation, axes, count);
        if (count > 0)
          test_moves(type, axes, count);
      }
  test_nan();
  test_rounding();
  /* Groups are kept: MPI libraries have about 2000. */
  int64_t lines[] = {grid[0] * grid[1]};
  for (int i = 0; i < 2100; ++i) {
    int32_t one = 1;
    chimera_check_grid(i % 2 ? 1 : 2, i % 2 ? lines : grid);
    chimera_all_reduce(&one, &one, 1, CHIMERA_I32, CHIMERA_SUM, 1);
    if (one != (i % 2 ? lines[0] : grid[0]))
      return 1;
  }
  if (chimera_process() == 0)
    printf("passed on %lld processes\n", (long long)chimera_num_processes());
  return 0;
}
