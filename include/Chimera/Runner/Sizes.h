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

#ifndef CHIMERA_RUNNER_SIZES_H
#define CHIMERA_RUNNER_SIZES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace chimera::runner {

/// One number for each dynamic size of a function.
using Sizes = std::vector<int64_t>;

bool hasDynamicSizes(mlir::func::FuncOp entry);

/// Which sizes of `entry` are dynamic, as in "dynamic sizes: 1 (dimension 0 of
/// argument 0)"; "no dynamic sizes" if none is.
std::string describeDynamicSizes(mlir::func::FuncOp entry);

/// Fails unless `sizes` has a number for each dynamic size of `entry`.
llvm::Error checkSizes(mlir::func::FuncOp entry, const Sizes &sizes);

/// Has `entry` planned for each of `cases` besides the sizes that are not
/// listed.
llvm::Error setSizes(mlir::func::FuncOp entry, llvm::ArrayRef<Sizes> cases);

/// The sizes that `entry` says it is to be planned for first, if any.
std::optional<Sizes> getFirstSizes(mlir::func::FuncOp entry);

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

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_SIZES_H
