/*===- mlp.c - A perceptron compiled and run from C
-------------------------===*\
|*                                                                            *|
|* Part of the Chimera project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Compiles examples/mlp_relu.mlir, relu(x * w1' + b1) * w2' + b2, runs it on *|
|* memory of its own, compares some rows with plain loops, and prints what    *|
|* was decided.                                                               *|
|*                                                                            *|
|*   cc -std=c11 mlp.c -lChimera-C -lm && ./a.out ../mlp_relu.mlir            *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "chimera-c/Chimera.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 512, WIDTH = 512, HIDDEN = 2048, CHECKED_ROWS = 16 };

/** Shapes are in the program; they are here for the plain loops. */
static float x[ROWS][WIDTH], w1[HIDDEN][WIDTH], b1[HIDDEN];
static float w2[WIDTH][HIDDEN], b2[WIDTH], y[ROWS][WIDTH];

static void fill(float *data, size_t count) {
  static unsigned state = 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
  }
}

/** The largest difference of row `row` from plain loops, in relation to the
    largest element. */
static double compareRow(size_t row) {
  static double hidden[HIDDEN];
  for (size_t h = 0; h < HIDDEN; ++h) {
    double sum = b1[h];
    for (size_t k = 0; k < WIDTH; ++k)
      sum += (double)x[row][k] * w1[h][k];
    hidden[h] = sum > 0 ? sum : 0;
  }
  double largest = 0, error = 0;
  for (size_t n = 0; n < WIDTH; ++n) {
    double sum = b2[n];
    for (size_t h = 0; h < HIDDEN; ++h)
      sum += hidden[h] * w2[n][h];
    largest = fmax(largest, fabs(sum));
    error = fmax(error, fabs(sum - y[row][n]));
  }
  return error / largest;
}

static void printDiagnostic(const ChimeraDiagnostic *diagnostic,
                            void *userData) {
  (void)userData;
  if (diagnostic->file.length > 0)
    fprintf(stderr, "%.*s:%u:%u: ", (int)diagnostic->file.length,
            diagnostic->file.data, diagnostic->line, diagnostic->column);
  fprintf(stderr, "%.*s\n", (int)diagnostic->message.length,
          diagnostic->message.data);
}

static void printText(ChimeraStringRef text, void *userData) {
  fwrite(text.data, 1, text.length, userData);
}

/** Weights and biases are the same in every call: the program packs them once.
 */
static ChimeraProgram compileFile(ChimeraContext context, const char *path) {
  ChimeraStringRef name = chimeraStringRefCreateFromCString("main");
  ChimeraOptions options = chimeraOptionsCreate();
  for (unsigned argument = 1; argument < 5; ++argument)
    chimeraOptionsAddConstant(options, name, argument);
  ChimeraModule module =
      chimeraModuleParseFile(context, chimeraStringRefCreateFromCString(path));
  ChimeraProgram program = chimeraCompile(module, options);
  chimeraModuleDestroy(module);
  chimeraOptionsDestroy(options);
  return program;
}

/** Returns whether the results are right. */
static bool run(ChimeraProgram program, ChimeraFunction function) {
  fill(&x[0][0], ROWS * WIDTH);
  fill(&w1[0][0], HIDDEN * WIDTH);
  fill(b1, HIDDEN);
  fill(&w2[0][0], WIDTH * HIDDEN);
  fill(b2, WIDTH);
  /* All sizes are in the program, so that no shapes have to be given. */
  const ChimeraTensor arguments[] = {{x, sizeof x, 0, NULL},
                                     {w1, sizeof w1, 0, NULL},
                                     {b1, sizeof b1, 0, NULL},
                                     {w2, sizeof w2, 0, NULL},
                                     {b2, sizeof b2, 0, NULL}};
  const ChimeraTensor result = {y, sizeof y, 0, NULL};
  ChimeraCall call =
      chimeraCallCreate(program, function, 5, arguments, 1, &result);
  if (chimeraCallIsNull(call))
    return false;
  chimeraCallRun(call);
  chimeraCallDestroy(call);
  double error = 0;
  for (size_t row = 0; row < CHECKED_ROWS; ++row)
    error = fmax(error, compareRow(row * (ROWS / CHECKED_ROWS)));
  printf("error      %.1e of the largest element, against plain loops\n",
         error);
  return error < 1e-5;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s mlp_relu.mlir\n", argv[0]);
    return 2;
  }
  ChimeraContext context = chimeraContextCreate();
  chimeraContextSetDiagnosticHandler(context, printDiagnostic, NULL);
  ChimeraProgram program = compileFile(context, argv[1]);
  ChimeraFunction function = chimeraProgramFindFunction(
      program, chimeraStringRefCreateFromCString("main"));
  chimeraProgramPrintReport(program, function, CHIMERA_REPORT_TABLE, printText,
                            stdout);
  bool isRight = run(program, function);
  chimeraProgramDestroy(program);
  chimeraContextDestroy(context);
  return isRight ? 0 : 1;
}
