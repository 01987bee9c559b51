/*===- MLIR.h - Chimera for those who use MLIR's C interface ------*- C -*-===*\
|*                                                                            *|
|* Part of the Chimera project, under the Apache License v2.0 with LLVM       *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* The program has to use the same libMLIR.so as libChimera-C.so, beside the  *|
|* archives of MLIR's C interface (libMLIRCAPI*.a).                           *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef CHIMERA_C_MLIR_H
#define CHIMERA_C_MLIR_H

#include "chimera-c/Chimera.h"

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Adds Chimera's dialects, with those of upstream that its passes need and the
    models of their interfaces. */
CHIMERA_CAPI_EXPORTED void
chimeraRegisterAllDialects(MlirDialectRegistry registry);

/** Makes Chimera's passes and pipelines known by name, for pipelines in text.
 */
CHIMERA_CAPI_EXPORTED void chimeraRegisterAllPasses(void);

/** A context in a context of MLIR's, which gets Chimera's dialects. It stays
   the caller's and has to outlive what is returned. While a function of Chimera
    runs in it, MLIR's diagnostics go to the handler of Chimera's context.
    Remarks are kept only if the context has no engine for them. */
CHIMERA_CAPI_EXPORTED ChimeraContext
chimeraContextCreateFromMlir(MlirContext context);

/** A copy of `module`, which has to be in the context that `context` is made
    from; null, with an error, if it is not. Reports call it `name`. */
CHIMERA_CAPI_EXPORTED ChimeraModule chimeraModuleCreateFromMlir(
    ChimeraContext context, MlirModule module, ChimeraStringRef name);

#ifdef __cplusplus
}
#endif

#endif /* CHIMERA_C_MLIR_H */
