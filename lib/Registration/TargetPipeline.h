//===- TargetPipeline.h - The pipeline that a target asks for ---*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_REGISTRATION_TARGETPIPELINE_H
#define CHIMERA_LIB_REGISTRATION_TARGETPIPELINE_H

#include "Chimera/Transforms/Pipelines.h"

namespace chimera {

/// What all back ends have options for, and what one has.
struct CompileOptions : PipelineOptions {
  Option<bool> tf32{
      *this, "tf32",
      llvm::cl::desc(
          "Let GPUs multiply f32 as tf32, which keeps 10 of 23 bits"),
      llvm::cl::init(false)};
  Option<std::string> format{
      *this, "format",
      llvm::cl::desc("What the binary of a GPU holds: isa (PTX), bin or "
                     "fatbin, for which ptxas is needed"),
      llvm::cl::init("bin")};
  Option<std::string> manifest{
      *this, "manifest",
      llvm::cl::desc("File that says in JSON how the kernels of a GPU are "
                     "launched"),
      llvm::cl::init("")};
};

/// From linalg on tensors to what runs on the target: the LLVM dialect, kernels
/// and what launches them, or C++.
void buildTargetPipeline(mlir::OpPassManager &pm,
                         const CompileOptions &options);

} // namespace chimera

#endif // CHIMERA_LIB_REGISTRATION_TARGETPIPELINE_H
