//===- paging.h - Weights that lie in files until they are read -*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A weight that has been packed is in memory twice, and nobody may ever read
// the original again. It cannot be freed, since its module has it. Its pages
// can be those of a file, though, as those of a swap file are: they take memory
// only once somebody reads them.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_PYTHON_NATIVE_PAGING_H
#define CHIMERA_PYTHON_NATIVE_PAGING_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace chimera::python {

/// Frees the memory of the whole pages among `bytes` from `address`, which stay
/// as they are for all who read or write them.
///
/// Pages that lie in memory alone are written to a file without a name in
/// `folder`, if `writes`, and mapped from there in their place, privately;
/// those that are mapped from a file are dropped until they are read again.
/// Readers may run at the same time, writers may not.
///
/// `address` is that of a block of the C library's heap. Returns false and
/// leaves all as it is where it is not, where another allocator has replaced
/// that heap, or where files of `folder` lie in memory or on another machine.
///
/// Throws std::system_error if the file cannot be written, or would leave less
/// than a twentieth of the disk free.
bool pageOut(uintptr_t address, size_t bytes, const std::string &folder,
             bool writes);

} // namespace chimera::python

#endif // CHIMERA_PYTHON_NATIVE_PAGING_H
