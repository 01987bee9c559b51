//===- Passes.h - Conversions of back ends ----------------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_CONVERSION_PASSES_H
#define CHIMERA_CONVERSION_PASSES_H

#include "Chimera/IR/Chimera.h"

#include "mlir/Pass/Pass.h"

namespace chimera {

/// How `convert-ascend-to-emitc` writes the matrix product of a block.
enum class AscendEmission { Call, Nest };

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Chimera/Conversion/Passes.h.inc"

// Those of a back end that is not built (CHIMERA_BACK_ENDS) are declared alone.
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Chimera/Conversion/X86Passes.h.inc"

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Chimera/Conversion/NvidiaPasses.h.inc"

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Chimera/Conversion/AscendPasses.h.inc"

/// Attaches the emission of functions that are micro kernels.
void registerFunctionMicroKernels(mlir::DialectRegistry &registry);

/// Offers `#chimera.outer_product` micro kernels, and attaches their emission.
void registerX86VectorMicroKernels(mlir::DialectRegistry &registry);

/// Offers the instructions of tensor cores that `convert-chimera-to-nvvm` makes
/// programs of.
void registerNVVMMicroKernels(mlir::DialectRegistry &registry);

/// Offers the instruction of the cube unit that `convert-chimera-to-ascend`
/// makes programs of.
void registerAscendMicroKernels(mlir::DialectRegistry &registry);

} // namespace chimera

#endif // CHIMERA_CONVERSION_PASSES_H
