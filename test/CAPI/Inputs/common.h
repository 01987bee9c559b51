/*===- common.h - What the tests of the C interface share
-------------------===*\
|*                                                                            *|
|* Part of the Chimera project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef CHIMERA_TEST_CAPI_INPUTS_COMMON_H
#define CHIMERA_TEST_CAPI_INPUTS_COMMON_H

#include "chimera-c/Chimera.h"

#include <stdio.h>
#include <stdlib.h>

/** Ends the process, with the condition, unless it holds. */
#define CHECK(condition)                                                       \
  do                                                                           \
    if (!(condition)) {                                                        \
      printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);         \
      exit(1);                                                                 \
    }                                                                          \
  while (0)

static inline ChimeraStringRef text(const char *characters) {
  return chimeraStringRefCreateFromCString(characters);
}

static inline void print(ChimeraStringRef string) {
  fwrite(string.data, 1, string.length, stdout);
}

/** Prints a line for each diagnostic, and counts them in `userData`. */
static inline void printDiagnostic(const ChimeraDiagnostic *diagnostic,
                                   void *userData) {
  ++*(int *)userData;
  printf("  %s ",
         diagnostic->severity == CHIMERA_SEVERITY_ERROR ? "error" : "warning");
  print(diagnostic->file);
  printf(":%u:%u: ", diagnostic->line, diagnostic->column);
  print(diagnostic->message);
  printf("\n");
}

#endif /* CHIMERA_TEST_CAPI_INPUTS_COMMON_H */
