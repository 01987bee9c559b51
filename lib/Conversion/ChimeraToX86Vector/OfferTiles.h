//===- OfferTiles.h - The offer of kernels on AMX ---------------*- C++ -*-===//
//
// Part of the Chimera project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CHIMERA_LIB_CONVERSION_OFFERTILES_H
#define CHIMERA_LIB_CONVERSION_OFFERTILES_H

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace chimera {

/// Offers `#chimera.tile_product` in `context`, for targets with AMX.
void offerTileProducts(mlir::MLIRContext *context);

} // namespace chimera

#endif // CHIMERA_LIB_CONVERSION_OFFERTILES_H
