//===- Target.h - Named, detected and described machines --------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where targets come from: a name, the machine we run on, an attribute of the
// program, a file, or the program's DLTI description. All knowledge about
// particular hardware is in lib/Target, as attributes; nothing else in the
// project compares names.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TARGET_TARGET_H
#define CHIMERA_TARGET_TARGET_H

#include "Chimera/IR/Chimera.h"
#include "Chimera/Model/Network.h"

#include "llvm/ADT/StringMap.h"

namespace chimera {

/// The name under which a module carries a target of its own.
inline constexpr llvm::StringLiteral kTargetAttrName = "chimera.target";

/// The names `getTarget` knows, `host` first.
llvm::SmallVector<llvm::StringRef> getTargetNames();

/// The target of that name; null if there is none. `host` is the machine we run
/// on: its caches and cores as the system reports them, its rates from the
/// nearest named target.
TargetAttr getTarget(mlir::MLIRContext *context, llvm::StringRef name);

/// The named target nearest to an x86 processor that LLVM calls `cpu` and that
/// has `features`: the one of that processor, else of the one that is most like
/// it in features.
llvm::StringRef findX86Target(llvm::StringRef cpu,
                              const llvm::StringMap<bool> &features);

/// The target in the file `path`, which holds one attribute and nothing else
/// but comments. A relative path starts at the working directory. Emits an
/// error, at the place in the file if there is one, and fails if the file
/// cannot be read or is not that.
llvm::FailureOr<TargetAttrInterface> readTarget(mlir::Location loc,
                                                llvm::StringRef path);

/// The machine that a `dlti.target_system_spec` describes: `base` with what the
/// entries of `device` say. `max_vector_op_width` is in bits, the rest is as
/// the keys say; each is an integer above zero:
///
///   num_cores
///   max_vector_op_width
///   <level>_cache_size_in_bytes     <level>_cache_line_size_in_bytes
///   <level>_cache_associativity     with a level of `base`, such as L1
///   cache                           a map from a level to a map of
///                                   size_in_bytes, line_size_in_bytes and
///                                   associativity; L1d is L1
///
/// Other keys are left aside; `reportUnknown` gets them one by one. Emits an
/// error and fails if a figure makes no sense.
llvm::FailureOr<TargetAttr>
deriveTarget(mlir::TargetDeviceSpecInterface device, TargetAttr base,
             llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
             llvm::function_ref<void(const llvm::Twine &key)> reportUnknown);

/// The target for `op`, which is the first of these that exists:
///
///  - the `chimera.target` attribute of the closest enclosing operation;
///  - if `name` is `host`, `dlti` or empty: what the closest
///    `dlti.target_system_spec` says of the device "CPU", else of one that is
///    named like a target;
///  - the target named `name`;
///  - if `name` ends in `.mlir`: the target in that file.
///
/// Emits an error on `op` and fails if there is none. Keys of the DLTI
/// description that mean nothing here get a remark (category `chimera`) if `op`
/// is what carries it.
llvm::FailureOr<TargetAttrInterface> resolveTarget(mlir::Operation *op,
                                                   llvm::StringRef name);

/// Processes of one machine, for targets that do not describe a network.
model::Network getSharedMemoryNetwork();

/// Emits an error on `op` and fails if nothing can be planned with these
/// options of a pass, whether there is anything to plan or not: there is no
/// target `name`, or `threads` is negative.
llvm::LogicalResult verifyPlanningOptions(mlir::Operation *op,
                                          llvm::StringRef name,
                                          int64_t threads);

} // namespace chimera

#endif // CHIMERA_TARGET_TARGET_H
