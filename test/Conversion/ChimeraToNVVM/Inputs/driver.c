/* Stands in for the CUDA driver where there is none: prints the calls that
 * scripts/launch_kernels.py makes, with names for what it gave out, and keeps
 * memory, so that what is copied there comes back. Fails where handles are not
 * those that it gave, and where work is not in the stream. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { mostArrays = 16, codeBytes = 4 };

/* Arrays start `MISALIGNED` bytes, from the environment, behind a multiple of
 * 256. */
static char *arrays[mostArrays];
static size_t sizes[mostArrays];
static int numArrays;
static char context, module, function, stream, events[256];
static int numEvents;

/* In the order of what the script prints. */
__attribute__((constructor)) static void start(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
}

static int fail(const char *what) {
  printf("driver: %s\n", what);
  return 1;
}

static int find(uint64_t place) {
  for (int i = 0; i < numArrays; ++i)
    if ((uint64_t)arrays[i] == place)
      return i;
  return -1;
}

int cuGetErrorString(int status, const char **text) {
  *text = status == 1 ? "as printed" : "unknown";
  return 0;
}

int cuInit(unsigned flags) { return flags ? fail("flags") : 0; }

int cuDeviceGet(int *device, int number) {
  *device = 7 + number;
  return 0;
}

int cuDevicePrimaryCtxRetain(void **made, int device) {
  *made = &context;
  return device == 7 ? 0 : fail("no such device");
}

int cuCtxSetCurrent(void *given) {
  return given == &context ? 0 : fail("no such context");
}

int cuStreamCreate(void **made, unsigned flags) {
  printf("stream %u\n", flags);
  *made = &stream;
  return 0;
}

int cuModuleLoadData(void **made, const void *code) {
  printf("load %.*s\n", codeBytes, (const char *)code);
  *made = &module;
  return 0;
}

int cuModuleGetFunction(void **made, void *from, const char *name) {
  printf("function %s\n", name);
  *made = &function;
  return from == &module ? 0 : fail("no such module");
}

int cuFuncSetAttribute(void *of, int attribute, int value) {
  printf("attribute %d is %d\n", attribute, value);
  return of == &function ? 0 : fail("no such function");
}

int cuMemAlloc_v2(uint64_t *place, size_t size) {
  const char *skipped = getenv("MISALIGNED");
  char *memory = aligned_alloc(256, (size + 511) / 256 * 256);
  if (!memory || numArrays == mostArrays)
    return fail("no memory");
  printf("array %d has %zu bytes\n", numArrays, size);
  arrays[numArrays] = memory + (skipped ? atoi(skipped) : 0);
  sizes[numArrays] = size;
  *place = (uint64_t)arrays[numArrays++];
  return 0;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *in) {
  int array = find(to);
  if (array < 0 || size > sizes[array] || in != &stream)
    return fail("a copy to elsewhere");
  printf("copy to array %d\n", array);
  memcpy(arrays[array], from, size);
  return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *in) {
  int array = find(from);
  if (array < 0 || size > sizes[array] || in != &stream)
    return fail("a copy from elsewhere");
  printf("copy from array %d\n", array);
  memcpy(to, arrays[array], size);
  return 0;
}

int cuStreamSynchronize(void *given) {
  printf("wait\n");
  return given == &stream ? 0 : fail("no such stream");
}

int cuEventCreate(void **made, unsigned flags) {
  *made = &events[numEvents++ % sizeof(events)];
  return flags ? fail("flags") : 0;
}

int cuEventRecord(void *event, void *in) {
  (void)event;
  return in == &stream ? 0 : fail("an event in another stream");
}

int cuEventSynchronize(void *event) {
  (void)event;
  return 0;
}

int cuEventElapsedTime(float *milliseconds, void *first, void *second) {
  *milliseconds = 0.0125f;
  return first != second ? 0 : fail("one event");
}

int cuEventDestroy_v2(void *event) {
  (void)event;
  return 0;
}

/* The first argument has to be an array, of f32, and is multiplied by two, as
 * the last, which has as many elements. What is between them is printed: where
 * an array is, or an i64. */
int cuLaunchKernel(void *launched, unsigned x, unsigned y, unsigned z,
                   unsigned threads, unsigned threadsY, unsigned threadsZ,
                   unsigned shared, void *in, void **arguments, void **extra) {
  const char *text = getenv("ARGUMENTS");
  int count = text ? atoi(text) : 2;
  printf("launch %u %u %u of %u %u %u with %u bytes:", x, y, z, threads,
         threadsY, threadsZ, shared);
  for (int i = 0; i < count; ++i) {
    uint64_t value = *(uint64_t *)arguments[i];
    if (find(value) >= 0)
      printf(" array %d", find(value));
    else
      printf(" %lld", (long long)value);
  }
  printf("\n");
  if (launched != &function || in != &stream || extra)
    return fail("a launch of something else");
  int from = find(*(uint64_t *)arguments[0]);
  int to = find(*(uint64_t *)arguments[count - 1]);
  if (from < 0 || to < 0 || sizes[from] != sizes[to])
    return fail("no arrays");
  for (size_t i = 0; i < sizes[from] / sizeof(float); ++i)
    ((float *)arrays[to])[i] = 2 * ((float *)arrays[from])[i];
  return 0;
}
