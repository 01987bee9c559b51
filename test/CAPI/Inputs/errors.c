/*===- errors.c - What goes wrong reaches the handler
-----------------------===*\
|*                                                                            *|
|* Part of the Chimera project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "common.h"

static const char goodSource[] =
    "func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
    "  return %a : tensor<2x3xf32>\n"
    "}\n"
    "func.func private @helper()\n"
    "func.func @open(%a: tensor<?x3xf32>) -> tensor<?x3xf32> {\n"
    "  return %a : tensor<?x3xf32>\n"
    "}\n"
    "func.func @narrow(%a: tensor<2xi16>) -> tensor<2xi16> {\n"
    "  return %a : tensor<2xi16>\n"
    "}\n";

static ChimeraContext context;
/** Diagnostics so far. */
static int count;

/** Names what comes and forgets the diagnostics before it. */
static void begin(const char *what) {
  printf("%s\n", what);
  count = 0;
}

static void parse(void) {
  begin("syntax");
  CHECK(chimeraModuleIsNull(chimeraModuleParse(
      context, text("func.func @main() {\n  retrun\n}\n"), text("bad.mlir"))));
  CHECK(count == 1);
  begin("missing file");
  CHECK(chimeraModuleIsNull(
      chimeraModuleParseFile(context, text("no/such/file.mlir"))));
  CHECK(count == 1);
}

/** Compiles with options that are wrong, and destroys them. */
static void compileWrong(ChimeraModule module, ChimeraOptions options) {
  count = 0;
  CHECK(chimeraProgramIsNull(chimeraCompile(module, options)));
  CHECK(count == 1);
  chimeraOptionsDestroy(options);
}

static void options(ChimeraModule module) {
  begin("target");
  ChimeraOptions options = chimeraOptionsCreate();
  chimeraOptionsSetTarget(options, text("zen0"));
  compileWrong(module, options);
  begin("another kind of machine");
  options = chimeraOptionsCreate();
  chimeraOptionsSetTarget(options, text("ascend910"));
  compileWrong(module, options);
  begin("threads");
  options = chimeraOptionsCreate();
  chimeraOptionsSetThreads(options, 1u << 20);
  compileWrong(module, options);
  begin("level");
  options = chimeraOptionsCreate();
  chimeraOptionsSetOptimizationLevel(options, 4);
  compileWrong(module, options);
  begin("micro kernels");
  options = chimeraOptionsCreate();
  chimeraOptionsSetMicroKernels(options, text("no-kernels.mlir"));
  compileWrong(module, options);
  begin("constant");
  options = chimeraOptionsCreate();
  chimeraOptionsAddConstant(options, text("main"), 1);
  compileWrong(module, options);
  begin("function of an option");
  options = chimeraOptionsCreate();
  chimeraOptionsAddConstant(options, text("nowhere"), 0);
  compileWrong(module, options);
  begin("sizes");
  options = chimeraOptionsCreate();
  const int64_t sizes[] = {1, 2};
  chimeraOptionsAddSizes(options, text("open"), 2, sizes);
  compileWrong(module, options);
}

static void signatures(void) {
  begin("nothing to call");
  ChimeraModule module = chimeraModuleParse(
      context,
      text("func.func @main(%a: f32) -> f32 {\n  return %a : f32\n}\n"),
      text("scalar.mlir"));
  CHECK(chimeraProgramIsNull(chimeraCompile(module, (ChimeraOptions){NULL})));
  CHECK(count == 1);
  chimeraModuleDestroy(module);
  begin("no function");
  module = chimeraModuleParse(context, text("module {}"), text("empty.mlir"));
  CHECK(chimeraProgramIsNull(chimeraCompile(module, (ChimeraOptions){NULL})));
  CHECK(count == 1);
  chimeraModuleDestroy(module);
}

/** A call with one argument and result that is wrong. */
static void callWrong(ChimeraProgram program, ChimeraFunction function,
                      ChimeraTensor argument, ChimeraTensor result) {
  count = 0;
  CHECK(chimeraCallIsNull(
      chimeraCallCreate(program, function, 1, &argument, 1, &result)));
  CHECK(count == 1);
}

static void calls(ChimeraProgram program, ChimeraProgram other) {
  _Alignas(64) static float a[8], b[8];
  const int64_t shape[] = {2, 3}, wrong[] = {3, 2}, negative[] = {-2, 3};
  const ChimeraTensor good = {a, 24, 2, shape}, result = {b, 24, 2, shape};
  ChimeraFunction function = chimeraProgramFindFunction(program, text("main"));
  ChimeraFunction open = chimeraProgramFindFunction(program, text("open"));
  begin("number of arguments");
  CHECK(chimeraCallIsNull(
      chimeraCallCreate(program, function, 2, &good, 1, &result)));
  begin("number of results");
  CHECK(chimeraCallIsNull(
      chimeraCallCreate(program, function, 1, &good, 0, NULL)));
  begin("no list");
  CHECK(chimeraCallIsNull(
      chimeraCallCreate(program, function, 1, NULL, 1, &result)));
  begin("bytes");
  callWrong(program, function, (ChimeraTensor){a, 20, 2, shape}, result);
  begin("extents");
  callWrong(program, function, (ChimeraTensor){a, 24, 2, wrong}, result);
  begin("rank");
  callWrong(program, function, (ChimeraTensor){a, 8, 1, shape}, result);
  begin("no extents");
  callWrong(program, function, (ChimeraTensor){a, 24, 2, NULL}, result);
  begin("memory");
  callWrong(program, function, (ChimeraTensor){NULL, 24, 2, shape}, result);
  begin("alignment");
  callWrong(program, function, (ChimeraTensor){(char *)a + 2, 24, 2, shape},
            result);
  begin("extents that are needed");
  callWrong(program, open, (ChimeraTensor){a, 24, 0, NULL}, result);
  begin("negative extent");
  callWrong(program, open, (ChimeraTensor){a, 24, 2, negative}, result);
  begin("function of another program");
  callWrong(other, function, good, result);
  begin("call that stays as it was");
  ChimeraCall call = chimeraCallCreate(program, function, 1, &good, 1, &result);
  CHECK(chimeraLogicalResultIsFailure(
      chimeraCallSetTensors(call, 0, NULL, 1, &result)));
  a[5] = 7;
  chimeraCallRun(call);
  CHECK(b[5] == 7);
  chimeraCallDestroy(call);
}

static void functions(ChimeraProgram program) {
  begin("unknown function");
  CHECK(chimeraFunctionIsNull(
      chimeraProgramFindFunction(program, text("nowhere"))));
  begin("private function");
  CHECK(chimeraFunctionIsNull(
      chimeraProgramFindFunction(program, text("helper"))));
  begin("function that cannot be called");
  CHECK(chimeraFunctionIsNull(
      chimeraProgramFindFunction(program, text("narrow"))));
  begin("none of them");
  CHECK(chimeraFunctionIsNull(chimeraProgramGetFunction(program, 2)));
  CHECK(chimeraFunctionIsNull(chimeraProgramGetFunction(program, -1)));
  ChimeraFunction function = chimeraProgramGetFunction(program, 0);
  CHECK(chimeraFunctionGetArgumentType(function, 1).element ==
        CHIMERA_ELEMENT_NONE);
  CHECK(chimeraFunctionGetResultType(function, -1).element ==
        CHIMERA_ELEMENT_NONE);
  CHECK(count == 0);
}

static void files(ChimeraProgram program) {
  ChimeraStringRef path = text("no/such/folder/file");
  begin("files");
  CHECK(
      chimeraLogicalResultIsFailure(chimeraProgramWriteObject(program, path)));
  CHECK(chimeraLogicalResultIsFailure(
      chimeraProgramWriteSharedLibrary(program, path)));
  CHECK(
      chimeraLogicalResultIsFailure(chimeraProgramWriteHeader(program, path)));
  CHECK(count == 3);
}

static void ignore(ChimeraStringRef string, void *userData) {
  (void)string, (void)userData;
}

/** Null goes through without a word. */
static void nulls(void) {
  ChimeraProgram program = {NULL};
  ChimeraFunction function = {NULL};
  ChimeraTensor none = {NULL, 0, 0, NULL};
  begin("nulls");
  CHECK(chimeraModuleIsNull(
      chimeraModuleParseFile((ChimeraContext){NULL}, text("a"))));
  CHECK(chimeraProgramIsNull(
      chimeraCompile((ChimeraModule){NULL}, (ChimeraOptions){NULL})));
  CHECK(chimeraProgramGetNumFunctions(program) == 0);
  CHECK(chimeraFunctionIsNull(chimeraProgramFindFunction(program, text("a"))));
  CHECK(chimeraFunctionGetName(function).length == 0);
  CHECK(chimeraFunctionGetNumArguments(function) == 0);
  CHECK(chimeraFunctionGetNumResults(function) == 0);
  CHECK(chimeraCallIsNull(
      chimeraCallCreate(program, function, 1, &none, 1, &none)));
  CHECK(chimeraLogicalResultIsFailure(
      chimeraProgramWriteObject(program, text("a"))));
  CHECK(chimeraLogicalResultIsFailure(chimeraProgramPrintReport(
      program, function, CHIMERA_REPORT_JSON, ignore, NULL)));
  chimeraProgramForEachRemark(program, NULL, NULL);
  chimeraCallRun((ChimeraCall){NULL});
  chimeraCallDestroy((ChimeraCall){NULL});
  chimeraProgramDestroy(program);
  chimeraModuleDestroy((ChimeraModule){NULL});
  chimeraContextDestroy((ChimeraContext){NULL});
  CHECK(count == 0);
}

int main(void) {
  context = chimeraContextCreate();
  chimeraContextSetDiagnosticHandler(context, printDiagnostic, &count);
  parse();
  ChimeraModule module =
      chimeraModuleParse(context, text(goodSource), text("good.mlir"));
  options(module);
  signatures();
  begin("warning");
  ChimeraProgram program = chimeraCompile(module, (ChimeraOptions){NULL});
  CHECK(!chimeraProgramIsNull(program));
  ChimeraProgram other = chimeraCompile(module, (ChimeraOptions){NULL});
  calls(program, other);
  functions(program);
  files(program);
  nulls();
  chimeraProgramDestroy(other);
  chimeraProgramDestroy(program);
  chimeraModuleDestroy(module);
  chimeraContextDestroy(context);
  printf("done\n");
  return 0;
}
