/*===- mlir.c - Chimera beside MLIR's C interface
---------------------------===*\
|*                                                                            *|
|* Part of the Chimera project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* A module that is made by MLIR's C interface is planned by a pipeline in    *|
|* text, and compiled and run by Chimera's.                                   *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "common.h"

#include "chimera-c/MLIR.h"

#include "mlir-c/Pass.h"

static const char source[] =
    "func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
    "  %0 = arith.addf %a, %a : tensor<2x3xf32>\n"
    "  return %0 : tensor<2x3xf32>\n"
    "}\n";

static void plan(MlirContext mlir, MlirModule module) {
  MlirPassManager manager = mlirPassManagerCreate(mlir);
  MlirLogicalResult parsed = mlirParsePassPipeline(
      mlirPassManagerGetAsOpPassManager(manager),
      mlirStringRefCreateFromCString(
          "builtin.module(chimera-planning-pipeline{target=avx2})"),
      NULL, NULL);
  CHECK(mlirLogicalResultIsSuccess(parsed));
  CHECK(mlirLogicalResultIsSuccess(
      mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module))));
  mlirPassManagerDestroy(manager);
}

static void compileAndRun(ChimeraContext context, MlirModule module) {
  ChimeraModule copy =
      chimeraModuleCreateFromMlir(context, module, text("built"));
  ChimeraProgram program = chimeraCompile(copy, (ChimeraOptions){NULL});
  ChimeraFunction function = chimeraProgramFindFunction(program, text("main"));
  float in[] = {1, 2, 3, 4, 5, 6}, out[6] = {0};
  const ChimeraTensor argument = {in, sizeof in, 0, NULL};
  const ChimeraTensor result = {out, sizeof out, 0, NULL};
  ChimeraCall call =
      chimeraCallCreate(program, function, 1, &argument, 1, &result);
  CHECK(!chimeraCallIsNull(call));
  chimeraCallRun(call);
  CHECK(out[0] == 2 && out[5] == 12);
  chimeraCallDestroy(call);
  chimeraProgramDestroy(program);
  chimeraModuleDestroy(copy);
}

/** Modules of other contexts are refused. */
static void refuse(ChimeraContext context) {
  MlirContext other = mlirContextCreate();
  MlirModule module = mlirModuleCreateEmpty(mlirLocationUnknownGet(other));
  CHECK(chimeraModuleIsNull(
      chimeraModuleCreateFromMlir(context, module, text("other"))));
  mlirModuleDestroy(module);
  mlirContextDestroy(other);
}

int main(void) {
  int count = 0;
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  chimeraRegisterAllDialects(registry);
  chimeraRegisterAllPasses();
  MlirContext mlir = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  ChimeraContext context = chimeraContextCreateFromMlir(mlir);
  chimeraContextSetDiagnosticHandler(context, printDiagnostic, &count);
  MlirModule module =
      mlirModuleCreateParse(mlir, mlirStringRefCreateFromCString(source));
  plan(mlir, module);
  compileAndRun(context, module);
  CHECK(count == 0);
  refuse(context);
  CHECK(count == 1);
  mlirModuleDestroy(module);
  chimeraContextDestroy(context);
  mlirContextDestroy(mlir);
  printf("done\n");
  return 0;
}
