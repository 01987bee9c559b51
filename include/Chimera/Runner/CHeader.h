//===- CHeader.h - How C calls what was compiled ----------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An object file or a shared library has no types. The header beside it says
// what its functions take, so that a compiler checks those who call them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_RUNNER_CHEADER_H
#define CHIMERA_RUNNER_CHEADER_H

#include "Chimera/Runner/Compiler.h"

namespace chimera::runner {

/// A header for C11 and C++ that declares the functions of `interface`, and the
/// descriptors that their tensors are passed by. `name` is the program's: it is
/// in the comment at the top and, as far as it can, in the include guard.
std::string writeCHeader(const ModuleInterface &interface,
                         llvm::StringRef name);

} // namespace chimera::runner

#endif // CHIMERA_RUNNER_CHEADER_H
