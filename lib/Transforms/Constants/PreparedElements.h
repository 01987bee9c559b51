//===- PreparedElements.h - Elements of constants, where prepared -*- C++
//-*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table that is looked up and multiplied by, as the words of a language model
// are, is prepared for the product. Looked up there, the table itself is needed
// for nothing more, and a host can free it.
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_TRANSFORMS_CONSTANTS_PREPAREDELEMENTS_H
#define CHIMERA_TRANSFORMS_CONSTANTS_PREPAREDELEMENTS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AffineMap.h"

#include <optional>

namespace chimera {

/// An argument whose elements all stand in a value: that with indices d0, d1,
/// ... where `places` says.
struct HeldArgument {
  mlir::BlockArgument argument;
  mlir::AffineMap places;
};

/// The argument that `value`, of the body of a function, holds, or none.
std::optional<HeldArgument> findHeldArgument(mlir::Value value);

/// Lets what reads single elements of the argument read them in `memory`, if
/// there are no other readers.
void readPreparedElements(const HeldArgument &held,
                          mlir::memref::GlobalOp memory);

} // namespace chimera

#endif // CHIMERA_TRANSFORMS_CONSTANTS_PREPAREDELEMENTS_H
