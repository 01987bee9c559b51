//===- KernelFunction.cpp - The function of a kernel ----------------------===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelFunction.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace chimera;

MemRefType chimera::getBufferType(Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return MemRefType::get(type.getShape(), type.getElementType());
}

gpu::GPUFuncOp chimera::createKernel(Operation *root, TypeRange types,
                                     Attribute chip, int64_t threads,
                                     int64_t blocks) {
  Location loc = root->getLoc();
  std::string name = "kernel";
  if (auto function = root->getParentOfType<FunctionOpInterface>())
    name = function.getName().str();
  OpBuilder atTop(root->getContext());
  auto module = gpu::GPUModuleOp::create(atTop, loc, name + "_kernels",
                                         ArrayRef<Attribute>(chip));
  OpBuilder inside = OpBuilder::atBlockBegin(module.getBody());
  auto kernel = gpu::GPUFuncOp::create(inside, loc, name,
                                       inside.getFunctionType(types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  inside.getUnitAttr());
  kernel.setKnownBlockSizeAttr(
      inside.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  kernel.setKnownGridSizeAttr(
      inside.getDenseI32ArrayAttr({static_cast<int32_t>(blocks), 1, 1}));
  return kernel;
}
