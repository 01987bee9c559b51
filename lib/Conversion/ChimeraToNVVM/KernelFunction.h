//===- KernelFunction.h - The function of a kernel --------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels of chains and those of groups that wait for memory begin with.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_CHIMERATONVVM_KERNELFUNCTION_H
#define CHIMERA_LIB_CONVERSION_CHIMERATONVVM_KERNELFUNCTION_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace chimera {

/// The type of the memory that holds `tensor`: rows one after the other.
mlir::MemRefType getBufferType(mlir::Value tensor);

/// An empty kernel for `chip`, with a module of its own around it, named after
/// the function that `root` is in. It is launched as `blocks` blocks of
/// `threads` threads.
mlir::gpu::GPUFuncOp createKernel(mlir::Operation *root, mlir::TypeRange types,
                                  mlir::Attribute chip, int64_t threads,
                                  int64_t blocks);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_CHIMERATONVVM_KERNELFUNCTION_H
