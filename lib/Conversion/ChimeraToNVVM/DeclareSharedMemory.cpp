//===- DeclareSharedMemory.cpp - Shared memory that a launch defines ------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Repairs what upstream's lowering of gpu.dynamic_shared_memory leaves; see the
// description of the pass.
//
//===----------------------------------------------------------------------===//

#include "Chimera/Conversion/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

namespace chimera {
#define GEN_PASS_DEF_DECLARESHAREDMEMORYPASS
#include "Chimera/Conversion/NvidiaPasses.h.inc"
} // namespace chimera

using namespace mlir;

namespace {
struct DeclareSharedMemoryPass
    : chimera::impl::DeclareSharedMemoryPassBase<DeclareSharedMemoryPass> {
  using Base::Base;

  void runOnOperation() override {
    constexpr unsigned shared = nvgpu::NVGPUDialect::kSharedMemoryAddressSpace;
    for (auto global : getOperation().getOps<LLVM::GlobalOp>()) {
      auto type = dyn_cast<LLVM::LLVMArrayType>(global.getGlobalType());
      if (global.getAddrSpace() == shared && type && type.getNumElements() == 0)
        global.setLinkage(LLVM::Linkage::External);
    }
  }
};
} // namespace
