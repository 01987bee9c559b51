//===- NamedRemarks.h - What remarks of passes are called -------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A remark is filtered by its category and its name: `chimera` has what is
// decided for one machine, `chimera-shard` what is decided for several.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_TRANSFORMS_NAMEDREMARKS_H
#define CHIMERA_LIB_TRANSFORMS_NAMEDREMARKS_H

#include "mlir/IR/Remarks.h"

namespace chimera {

inline mlir::remark::RemarkOpts named(llvm::StringRef name) {
  return mlir::remark::RemarkOpts::name(name).category("chimera");
}

inline mlir::remark::RemarkOpts namedShard(llvm::StringRef name) {
  return mlir::remark::RemarkOpts::name(name).category("chimera-shard");
}

} // namespace chimera

#endif // CHIMERA_LIB_TRANSFORMS_NAMEDREMARKS_H
