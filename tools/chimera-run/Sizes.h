//===- Sizes.h - Programs with dynamic sizes at given ones ------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program with dynamic sizes is compiled once and run at several. What it is
// compared with, and what says how large its results are, is the program with
// these sizes fixed.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TOOLS_CHIMERA_RUN_SIZES_H
#define CHIMERA_TOOLS_CHIMERA_RUN_SIZES_H

#include "Options.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace chimera::run {

/// One number for each dynamic size of a function.
using Sizes = std::vector<int64_t>;

/// Plans `entry` for the sizes in `options`, if there are some.
llvm::Error setSizes(const Options &options, mlir::func::FuncOp entry);

/// The sizes that `entry` is run at: none, once, if it has no dynamic ones.
llvm::Expected<std::vector<Sizes>> getCases(const Options &options,
                                            mlir::func::FuncOp entry);

/// `module` with the public functions that have dynamic sizes at the first of
/// `sizes`, as many as each has.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
fixModule(mlir::ModuleOp module, const Sizes &sizes);

/// The function of `planned` that runs `entry`, whose sizes are fixed: one of
/// the versions of it, or the one for any size.
mlir::func::FuncOp findVersion(mlir::ModuleOp planned,
                               mlir::func::FuncOp entry);

/// Says what `planned` has for which sizes of `entry`, and what is tested
/// before it runs; nothing if `entry` has no dynamic sizes.
std::string describeVersions(mlir::ModuleOp planned, mlir::StringRef entry);

/// As in "1x128".
std::string toString(const Sizes &sizes);

} // namespace chimera::run

#endif // CHIMERA_TOOLS_CHIMERA_RUN_SIZES_H
