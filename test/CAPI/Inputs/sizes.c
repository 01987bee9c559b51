/*===- sizes.c - Dynamic sizes, constants, files, reports
-------------------===*\
|*                                                                            *|
|* Part of the Chimera project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* One compiled product, at several numbers of rows and in memory that is     *|
|* aligned to its elements only. Weights are packed when a call is created,   *|
|* and not when it gets other rows.                                           *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "common.h"

enum { MOST_ROWS = 130, DEPTH = 512, COLUMNS = 256 };

static const char source[] =
    "func.func @product(%a: tensor<?x512xf32>, %b: tensor<512x256xf32>)\n"
    "    -> tensor<?x256xf32> {\n"
    "  %c0 = arith.constant 0 : index\n"
    "  %zero = arith.constant 0.0 : f32\n"
    "  %rows = tensor.dim %a, %c0 : tensor<?x512xf32>\n"
    "  %empty = tensor.empty(%rows) : tensor<?x256xf32>\n"
    "  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x256xf32>)\n"
    "      -> tensor<?x256xf32>\n"
    "  %c = linalg.matmul ins(%a, %b : tensor<?x512xf32>, "
    "tensor<512x256xf32>)\n"
    "      outs(%fill : tensor<?x256xf32>) -> tensor<?x256xf32>\n"
    "  return %c : tensor<?x256xf32>\n"
    "}\n"
    "func.func @scale(%a: tensor<4xf64>, %f: f64) -> tensor<4xf64> {\n"
    "  %splat = tensor.splat %f : tensor<4xf64>\n"
    "  %0 = arith.mulf %a, %splat : tensor<4xf64>\n"
    "  return %0 : tensor<4xf64>\n"
    "}\n";

/** One element more than there is room for at a multiple of 64. */
static float a[1 + MOST_ROWS * DEPTH], b[1 + DEPTH * COLUMNS];
static float c[1 + MOST_ROWS * COLUMNS];

/** The columns of b have a one each, so that c repeats columns of a. */
static void fill(int shift) {
  for (int i = 0; i < DEPTH; ++i)
    for (int j = 0; j < COLUMNS; ++j)
      b[1 + i * COLUMNS + j] = i == (j + shift) % DEPTH;
  for (int i = 0; i < MOST_ROWS * DEPTH; ++i)
    a[1 + i] = (float)(i % 1021);
}

static bool isRight(int64_t rows, int shift) {
  for (int64_t i = 0; i < rows; ++i)
    for (int j = 0; j < COLUMNS; ++j)
      if (c[1 + i * COLUMNS + j] != a[1 + i * DEPTH + (j + shift) % DEPTH])
        return false;
  return true;
}

static void types(ChimeraProgram program, ChimeraFunction product) {
  CHECK(chimeraProgramGetNumFunctions(program) == 2);
  CHECK(chimeraFunctionGetNumArguments(product) == 2);
  CHECK(chimeraFunctionGetNumResults(product) == 1);
  ChimeraType type = chimeraFunctionGetArgumentType(product, 0);
  CHECK(type.element == CHIMERA_ELEMENT_F32 && !type.isScalar);
  CHECK(type.rank == 2 && type.shape[0] == CHIMERA_DYNAMIC);
  CHECK(type.shape[1] == DEPTH);
  CHECK(chimeraFunctionGetResultType(product, 0).shape[1] == COLUMNS);
  ChimeraFunction scale = chimeraProgramFindFunction(program, text("scale"));
  type = chimeraFunctionGetArgumentType(scale, 1);
  CHECK(type.isScalar && type.rank == 0);
  CHECK(chimeraElementGetNumBytes(type.element) == sizeof(double));
}

static void run(ChimeraProgram program, ChimeraFunction product) {
  int64_t aShape[] = {128, DEPTH}, cShape[] = {128, COLUMNS};
  ChimeraTensor arguments[] = {
      {a + 1, sizeof(float) * 128 * DEPTH, 2, aShape},
      {b + 1, sizeof(float) * DEPTH * COLUMNS, 0, NULL}};
  ChimeraTensor result = {c + 1, sizeof(float) * 128 * COLUMNS, 2, cShape};
  fill(3);
  ChimeraCall call =
      chimeraCallCreate(program, product, 2, arguments, 1, &result);
  CHECK(!chimeraCallIsNull(call));
  chimeraCallRun(call);
  CHECK(isRight(128, 3));
  const int64_t rows[] = {1, 7, MOST_ROWS, 0};
  for (int i = 0; i < 4; ++i) {
    aShape[0] = cShape[0] = rows[i];
    arguments[0].numBytes = sizeof(float) * (size_t)rows[i] * DEPTH;
    result.numBytes = sizeof(float) * (size_t)rows[i] * COLUMNS;
    memset(c, 0, sizeof c);
    CHECK(chimeraLogicalResultIsSuccess(
        chimeraCallSetTensors(call, 2, arguments, 1, &result)));
    chimeraCallRun(call);
    CHECK(isRight(rows[i], 3));
  }
  chimeraCallDestroy(call);
  /* Other weights come with another call. */
  fill(5);
  aShape[0] = cShape[0] = 7;
  arguments[0].numBytes = sizeof(float) * 7 * DEPTH;
  result.numBytes = sizeof(float) * 7 * COLUMNS;
  call = chimeraCallCreate(program, product, 2, arguments, 1, &result);
  chimeraCallRun(call);
  CHECK(isRight(7, 5));
  chimeraCallDestroy(call);
}

/** A number is passed by its address. The call outlives its program. */
static void scale(ChimeraProgram program) {
  double in[] = {1, 2, 3, 4}, out[4], factor = 3;
  const ChimeraTensor arguments[] = {{in, sizeof in, 0, NULL},
                                     {&factor, sizeof factor, 0, NULL}};
  const ChimeraTensor result = {out, sizeof out, 0, NULL};
  ChimeraFunction function = chimeraProgramFindFunction(program, text("scale"));
  ChimeraCall call =
      chimeraCallCreate(program, function, 2, arguments, 1, &result);
  chimeraProgramDestroy(program);
  chimeraCallRun(call);
  CHECK(out[0] == 3 && out[3] == 12);
  chimeraCallDestroy(call);
}

static void printText(ChimeraStringRef string, void *userData) {
  (void)userData;
  print(string);
}

static void printRemark(const ChimeraRemark *remark, void *userData) {
  (void)userData;
  printf("remark ");
  print(remark->kind);
  printf(" ");
  print(remark->place);
  printf(" ");
  print(remark->text);
  printf("\n");
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  int count = 0;
  ChimeraContext context = chimeraContextCreate();
  chimeraContextSetDiagnosticHandler(context, printDiagnostic, &count);
  ChimeraOptions options = chimeraOptionsCreate();
  const int64_t sizes[] = {128};
  chimeraOptionsSetTarget(options, text("avx2"));
  chimeraOptionsSetThreads(options, 2);
  chimeraOptionsSetFuseMode(options, CHIMERA_FUSE_ALWAYS);
  chimeraOptionsSetTileMode(options, CHIMERA_TILES_EXACT);
  chimeraOptionsSetOptimizationLevel(options, 2);
  chimeraOptionsSetJobs(options, 1);
  chimeraOptionsAddConstant(options, text("product"), 1);
  chimeraOptionsAddSizes(options, text("product"), 1, sizes);
  ChimeraModule module =
      chimeraModuleParse(context, text(source), text("product.mlir"));
  ChimeraProgram program = chimeraCompile(module, options);
  chimeraOptionsDestroy(options);
  chimeraModuleDestroy(module);
  CHECK(!chimeraProgramIsNull(program));
  ChimeraFunction product =
      chimeraProgramFindFunction(program, text("product"));
  types(program, product);
  run(program, product);
  chimeraProgramPrintReport(program, product, CHIMERA_REPORT_JSON, printText,
                            NULL);
  chimeraProgramForEachRemark(program, printRemark, NULL);
  CHECK(chimeraLogicalResultIsSuccess(
      chimeraProgramWriteObject(program, text(argv[1]))));
  CHECK(chimeraLogicalResultIsSuccess(
      chimeraProgramWriteSharedLibrary(program, text(argv[2]))));
  CHECK(chimeraLogicalResultIsSuccess(
      chimeraProgramWriteHeader(program, text(argv[3]))));
  scale(program);
  chimeraContextDestroy(context);
  CHECK(count == 0);
  printf("done\n");
  return 0;
}
