/*===- chimera_runtime.h - What compiled programs call -------------*- C
-*-===*\
|*
|* Part of the Chimera project, under the Apache License v2.0 with LLVM
|* Exceptions. See LICENSE for license information.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The runtime of programs inside a host that has threads of its own, such as
|* Python with PyTorch. Two pools of threads that wait for work by spinning take
|* the cores from each other: parallel loops of a program run on the OpenMP
|* runtime that the host has loaded (libgomp, else LLVM's), or on libgomp if
|* there is none. And a host must survive a program that fails: an assertion of
|* the program (`cf.assert`) ends the call, not the process.
|*
|* Shared libraries are linked against this one by `--runtime` of chimera-run.
|* It needs nothing but the C library.
|*
\*===----------------------------------------------------------------------===*/

#ifndef CHIMERA_RUNTIME_H
#define CHIMERA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function of a program: `_mlir_packed_<name>`. Each element points to an
   argument: to a scalar, or to the address of a memref descriptor. */
typedef void (*chimera_entry)(void **arguments);

/* Calls `entry` with its parallel loops on `threads` threads, or fewer if the
   host has fewer. Several threads may call at once. Returns 0, or 1 if an
   assertion of the program failed: then results are undefined, memory that the
   call had allocated is lost, and `message`, of `size` bytes, has the text of
   the assertion. */
int chimera_call(chimera_entry entry, void **arguments, int threads,
                 char *message, size_t size);

/* The OpenMP runtime that parallel loops run on, for people: a path, or "none"
   if they run on the thread that calls. */
const char *chimera_pool(void);

/* Called by programs where an assertion fails. Does not return. Outside of
   `chimera_call` it ends the process. */
void chimera_fail(const char *text);

/* What is called with the number of an argument. */
typedef void (*chimera_listener)(void *context, int64_t argument);

/* While `NAME_prepare` runs on this thread, `listener` hears of each constant
   that it has read for the last time and that calls do not read: its memory may
   be freed there and then. Null for nobody, as at first. */
void chimera_on_constant_read(chimera_listener listener, void *context);

/* Called by programs where they have read the constant `argument` for the last
   time. */
void chimera_constant_read(int64_t argument);

/* A library has two arrays for what `NAME_prepare` computes, in the order of
   the manifest's `prepared_values`: `void *NAME_prepared_memory[]`, where the
   values are, at first in the library itself; and `int8_t
   NAME_prepared_state[]`, 0 at first. A host may put other addresses into the
   first, of memory at multiples of 64 bytes, and a 1 into the second where a
   value is there already: then it is not computed. What has been computed has
   a 2. No call may run meanwhile. */

/* Called by programs to copy one strided memref to another of the same shape;
   both are a rank with a pointer to a descriptor. */
void memrefCopy(int64_t element_bytes, void *source, void *target);

#ifdef __cplusplus
}
#endif

#endif /* CHIMERA_RUNTIME_H */
